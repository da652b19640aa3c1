package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.HttpValueTypes.affinity;
import static io.lambdadispatcher.server.config.HttpValueTypes.headerNames;
import static io.lambdadispatcher.server.config.HttpValueTypes.host;
import static io.lambdadispatcher.server.config.HttpValueTypes.pathPrefix;
import static io.lambdadispatcher.server.config.ValueType.choice;
import static io.lambdadispatcher.server.config.ValueType.className;
import static io.lambdadispatcher.server.config.ValueType.duration;
import static io.lambdadispatcher.server.config.ValueType.durationOrOff;
import static io.lambdadispatcher.server.config.ValueType.hedgeDelay;
import static io.lambdadispatcher.server.config.ValueType.number;
import static io.lambdadispatcher.server.config.ValueType.numberOrOff;
import static io.lambdadispatcher.server.config.ValueType.percent;
import static io.lambdadispatcher.server.config.ValueType.positiveDuration;
import static io.lambdadispatcher.server.config.ValueType.retryConditions;
import static io.lambdadispatcher.server.config.ValueType.text;

import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.Mode;
import io.lambdadispatcher.server.config.PolicyValueTypes.CircuitBreaker;
import io.lambdadispatcher.server.config.PolicyValueTypes.Concurrency;
import io.lambdadispatcher.server.config.PolicyValueTypes.Downstream;
import io.lambdadispatcher.server.config.PolicyValueTypes.MinWorkers;
import io.lambdadispatcher.server.config.PolicyValueTypes.RequestPriority;
import io.lambdadispatcher.server.config.PolicyValueTypes.Rollout;
import io.lambdadispatcher.server.config.PolicyValueTypes.Spillover;
import io.lambdadispatcher.server.config.PolicyValueTypes.Tenants;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The settings of a function, which each function of {@code functions} can have for itself, by
 * topic.
 */
public final class FunctionSettings {
    private static final ValueType<String> LAMBDA =
            text("LAMBDA", "the name or ARN of a Lambda function, with or without :alias or :version", 170);

    private static final SettingTopic FUNCTION = new SettingTopic("Functions and their routes");
    public static final Setting<String> FUNCTION_NAME = FUNCTION.setting(
                    "function.name", text("NAME", "1 to 256 characters", 256), "default")
            .doc("Name of the function.");
    public static final Setting<String> FUNCTION_PATH = FUNCTION.setting("function.path", pathPrefix(), "/")
            .ofRoutes()
            .doc(
                    "Routes requests at or below this path to the function. Only whole path segments match. The longest path wins.");
    public static final Setting<String> FUNCTION_HOST = FUNCTION.setting("function.host", host())
            .ofRoutes()
            .doc("Routes only requests for this host to the function. *.example.org matches any subdomain."
                    + " A function with a matching host wins over functions without one.");
    public static final Setting<Route.Header> FUNCTION_HEADER = FUNCTION.setting(
                    "function.header", HttpValueTypes.header())
            .ofRoutes()
            .doc(
                    "Routes only requests with this header to the function. With a value, the header must have that value, which"
                            + " logs and the admin port show."
                            + " A function with a matching header wins over functions of the same host without one.");
    public static final Setting<Integer> FUNCTION_WEIGHT = FUNCTION.setting("function.weight", number(0, 10_000), "100")
            .reloads()
            .doc("Share of the requests among functions with the same host, header and path. 0 means none."
                    + " Set it for all of them or for none.");
    public static final Setting<Affinity> FUNCTION_AFFINITY = FUNCTION.setting("function.affinity", affinity(), "off")
            .ofRoutes()
            .doc("Sends requests that belong together to the same worker. header and cookie: those with the same value"
                    + " of this header or cookie. own-cookie: those with a cookie that the dispatcher sets."
                    + " session-header: those with a session id that the worker has created in this header.");
    public static final Setting<Integer> FUNCTION_MAX_QUEUED_REQUESTS = FUNCTION.setting(
                    "function.max-queued-requests", number(0, 10_000_000), "10000")
            .reloads()
            .doc("Maximum number of queued requests, which wait for a worker. Further requests get 503. One client "
                    + "fills at most half of the queue.");
    public static final Setting<Duration> FUNCTION_QUEUE_TIMEOUT = FUNCTION.setting(
                    "function.queue-timeout", duration(), "10s")
            .reloads()
            .doc("Maximum time that a queued request waits for a worker before it gets 503. Under lasting overload, "
                    + "when the queue has not been empty for this time, the maximum falls by and by to a twentieth of it, but "
                    + "not below 500 ms.");
    public static final Setting<Duration> FUNCTION_WORKER_TIMEOUT = FUNCTION.setting(
                    "function.worker-timeout", durationOrOff(), "15m")
            .reloads()
            .doc(
                    "Maximum time from dispatch to the end of the response. After it, the request gets 504, or its response"
                            + " is cut off.");

    private static final SettingTopic TRAFFIC = new SettingTopic("Deadlines and attempts");
    public static final Setting<Duration> FUNCTION_REQUEST_TIMEOUT = TRAFFIC.setting(
                    "function.request-timeout", durationOrOff(), "off")
            .ofRoutes()
            .doc("Maximum time from the arrival of a request to the end of its response. The queue and all attempts"
                    + " count. After it, the request gets 504.");
    public static final Setting<List<String>> FUNCTION_REQUEST_TIMEOUT_HEADERS = TRAFFIC.setting(
                    "function.request-timeout-headers", headerNames(), "")
            .ofRoutes()
            .doc("Headers with which clients set a shorter deadline: grpc-timeout, or any others with a number of"
                    + " milliseconds. Handlers receive them with the time that is left.");

    public static final Setting<Integer> FUNCTION_MAX_ATTEMPTS = TRAFFIC.setting(
                    "function.max-attempts", number(1, AttemptPolicy.MAX_ATTEMPTS), "2")
            .ofRoutes()
            .doc("Maximum number of workers that a request is sent to: the first attempt, retries and hedges.");
    public static final Setting<Set<RetryCondition>> FUNCTION_RETRY_ON = TRAFFIC.setting(
                    "function.retry-on", retryConditions(), "refused, lost")
            .ofRoutes()
            .doc("What lets a repeatable request be sent to another worker. refused = the worker did not begin, lost ="
                    + " the worker is gone, timeout = function.per-try-timeout is over, or a status of the handler.");
    public static final Setting<Duration> FUNCTION_PER_TRY_TIMEOUT = TRAFFIC.setting(
                    "function.per-try-timeout", durationOrOff(), "off")
            .ofRoutes()
            .doc("Sends a repeatable request to another worker if there are no headers of a response within this time"
                    + " after the worker has the complete request. It needs timeout in function.retry-on. It has no"
                    + " effect with function.hedge-after.");
    public static final Setting<HedgeDelay> FUNCTION_HEDGE_AFTER = TRAFFIC.setting(
                    "function.hedge-after", hedgeDelay(), "off")
            .ofRoutes()
            .doc("Sends a repeatable request to another worker, too, if there are no headers of a response this long"
                    + " after the last attempt, or after the worker has the complete request. p95 = the time in"
                    + " which 95 % of the recent responses began. The first response wins, whatever its status.");
    public static final Setting<Integer> FUNCTION_RETRY_BUDGET = TRAFFIC.setting(
                    "function.retry-budget", percent(1, 100).orOff(0), "10%")
            .reloads()
            .doc("Maximum number of retries and hedges together, as a share of the requests. It is the same for all"
                    + " routes of the function.");

    private static final SettingTopic ADMISSION = new SettingTopic("Admission");
    public static final Setting<Optional<RateLimit>> FUNCTION_RATE_LIMIT = ADMISSION
            .setting("function.rate-limit", PolicyValueTypes.rateLimit(), "off")
            .ofRoutes()
            .doc("Maximum rate of requests. Others get 429. burst = how many are permitted at the same time, by default"
                    + " the number of the rate. by = whose requests count together: client = those of an address, which"
                    + " is the default, route = all, or those with the same value of the header with this name.");
    public static final Setting<Integer> FUNCTION_MAX_CONCURRENT_REQUESTS = ADMISSION
            .setting("function.max-concurrent-requests", numberOrOff(10_000_000), "off")
            .ofRoutes()
            .doc("Maximum number of unfinished requests, including queued ones. Others get 503.");
    public static final Setting<Optional<Tenants>> FUNCTION_TENANT_HEADER = ADMISSION
            .setting("function.tenant-header", PolicyValueTypes.tenants(), "off")
            .ofRoutes()
            .doc("Header that names the tenant. Clients must not be able to choose it. max-requests = maximum number of"
                    + " each tenant's unfinished requests, including queued ones. Others get 429.");
    public static final Setting<RequestPriority> FUNCTION_PRIORITY = ADMISSION
            .setting("function.priority", PolicyValueTypes.priority(), "normal")
            .ofRoutes()
            .doc("Priority of requests if not all can be served. Sheddable ones are refused first. by = a header with"
                    + " the priority, which takes precedence. Other values of it are ignored. Clients must not be able to"
                    + " choose it.");
    public static final Setting<Duration> FUNCTION_MAX_QUEUE_DELAY = ADMISSION
            .setting("function.max-queue-delay", positiveDuration(), "100ms")
            .ofRoutes()
            .doc(
                    "Refuses a sheddable request with 503 if it would wait longer for a worker, and a normal one after four"
                            + " times as long. At most 1h. Applies only if there are priorities.");

    private static final SettingTopic FAILURE = new SettingTopic("Circuit breakers");
    public static final Setting<Optional<CircuitBreaker>> FUNCTION_CIRCUIT_BREAKER = FAILURE.setting(
                    "function.circuit-breaker", PolicyValueTypes.circuitBreaker(), "off")
            .ofRoutes()
            .doc("Opens the breaker if this share of the requests fails, with responses of 5xx, lost workers or"
                    + " timeouts. While it is open, requests get 503 immediately. slow = a request has failed if it has no"
                    + " headers of a response this long after a worker has the complete request. open = time for which the"
                    + " breaker is open, by default 5s, and up to four times as long if it opens again. Then 20 % of the"
                    + " requests pass for this time, then 60 %.");

    private static final SettingTopic DIRECT = new SettingTopic("Direct requests");
    public static final Setting<Mode> FUNCTION_MODE = DIRECT.setting("function.mode", choice(Mode.class), "dispatch")
            .doc(
                    "How requests reach the function: dispatch = through workers, direct = each request as one Lambda invocation.");
    public static final Setting<DirectEventFormat> FUNCTION_EVENT_FORMAT = DIRECT.setting(
                    "function.event-format", choice(DirectEventFormat.class), "http-api-v2")
            .doc("Event format in which the function sees direct requests. It also sets their size limits.");
    public static final Setting<Optional<Spillover>> FUNCTION_SPILLOVER = DIRECT.setting(
                    "function.spillover", PolicyValueTypes.spillover(), "off")
            .doc(
                    "In mode dispatch, sends an idempotent request directly if it waits longer than this for a worker, which"
                            + " must be less than function.queue-timeout. to = the Lambda function that is invoked, by default"
                            + " function.lambda, which must then handle both events and launches of workers.");
    public static final Setting<Integer> FUNCTION_MAX_CONCURRENT_INVOCATIONS = DIRECT.setting(
                    "function.max-concurrent-invocations", number(1, 100_000), "1000")
            .doc(
                    "Maximum number of direct requests in flight. Further requests get 503. The same maximum applies "
                            + "separately to direct requests whose body is still arriving, of which one client has at most half.");

    private static final SettingTopic LAUNCHING = new SettingTopic("Launching workers");
    public static final Setting<Launcher> FUNCTION_LAUNCHER = LAUNCHING
            .setting("function.launcher", choice(Launcher.class), "external")
            .doc(
                    "Who launches workers: external = you, local = the dispatcher as processes on this machine, lambda = the dispatcher"
                            + " on AWS Lambda.");
    public static final Setting<List<byte[]>> FUNCTION_SECRET = LAUNCHING
            .setting("function.secret", ValueType.secrets())
            .reloads()
            .doc("Secret of this function's workers, instead of workers.secret. With it, they cannot take the requests"
                    + " of other functions. A file is read as that of workers.secret.");
    public static final Setting<String> FUNCTION_LAMBDA = LAUNCHING
            .setting("function.lambda", LAMBDA)
            .doc("Lambda function that runs the workers, or, in mode direct, that direct requests invoke. If it is not"
                    + " set, its name is function.name.");
    public static final Setting<String> FUNCTION_HANDLER = LAUNCHING
            .setting("function.handler", className())
            .reloads()
            .doc("Handler class of local workers. It must be on their class path.");
    public static final Setting<Optional<Concurrency>> FUNCTION_WORKER_CONCURRENCY = LAUNCHING
            .setting("function.worker-concurrency", PolicyValueTypes.concurrency(), "auto")
            .doc("Maximum number of requests in flight on a worker. auto = one for each 64 MB of function.worker-memory"
                    + " with launcher lambda, which suits requests of 200 ms that need 5 ms of a vCPU, otherwise 100."
                    + " connections = number of connections that a worker opens, by default 1, and the maximum for an"
                    + " external worker. Each has an equal part of the requests.");
    public static final Setting<Duration> FUNCTION_LAUNCH_TIMEOUT = LAUNCHING
            .setting("function.launch-timeout", positiveDuration(), "30s")
            .reloads()
            .doc("Maximum time from the launch of a worker until it connects to the dispatcher. After it, the launch "
                    + "counts as failed.");
    public static final Setting<Duration> FUNCTION_MAX_WORKER_AGE = LAUNCHING
            .setting("function.max-worker-age", durationOrOff(CapacityPolicy.MIN_WORKER_AGE), "off")
            .reloads()
            .doc("Replaces a worker before it reaches this age. If it is off, only the launcher limits the age.");
    public static final Setting<Integer> FUNCTION_LAUNCHES_PER_MINUTE = LAUNCHING
            .setting("function.launches-per-minute", number(1, 1_000_000), "300")
            .reloads()
            .doc("Maximum number of launches in any 60 seconds, including failed ones.");
    public static final Setting<Integer> FUNCTION_SPENDING_LIMIT = LAUNCHING
            .setting("function.spending-limit", numberOrOff(2_000_000_000), "off")
            .reloads()
            .doc("Maximum GB-seconds of workers in any hour. Workers are retired before it is reached.");
    public static final Setting<Integer> FUNCTION_WORKER_MEMORY = LAUNCHING
            .setting("function.worker-memory", number(1, 1_000_000), "512")
            .reloads()
            .doc("Memory of one worker in MB, as the Lambda function has it. function.spending-limit follows from"
                    + " it, and at a start also function.worker-concurrency.");

    public static final Setting<Rollout> FUNCTION_ROLLOUT = LAUNCHING
            .setting("function.rollout", PolicyValueTypes.rollout(), "fast")
            .reloads()
            .doc(
                    "How workers of a new version replace the others, if function.lambda names an alias. fast is 10% for 2m: a"
                            + " tenth of the workers has the new version for 2 min, then all get it. careful is 10% 50% for 5m. Each"
                            + " step also lasts until the new version has answered 50 requests. If it fails more often or is slower,"
                            + " the old version keeps serving. poll = how often AWS is asked which version the alias has, by default"
                            + " every 30s. off: the dispatcher does not follow the alias, and new workers have the version that the"
                            + " alias names.");

    private static final SettingTopic SCALING = new SettingTopic("Scaling workers");
    public static final Setting<MinWorkers> FUNCTION_MIN_WORKERS = SCALING.setting(
                    "function.min-workers", PolicyValueTypes.minWorkers(), "0")
            .reloads()
            .doc("Minimum number of launched workers, and larger ones at certain times. External workers do not count."
                    + " Cron and time zone say when a time begins, for = how long it lasts. If several apply, the"
                    + " largest counts. The workers are launched so early that they are ready when the time begins.");
    public static final Setting<Integer> FUNCTION_MAX_WORKERS = SCALING.setting(
                    "function.max-workers", number(0, CapacityPolicy.MAX_WORKERS), "0")
            .reloads()
            .doc("Maximum number of launched workers. While workers are being replaced, there can be up to twice as "
                    + "many. External workers do not count: they are the base, beside which the"
                    + " launchers local and lambda launch only what exceeds it. Launcher external launches none.");
    public static final Setting<Downstream> FUNCTION_DOWNSTREAM_CONNECTIONS = SCALING.setting(
                    "function.downstream-connections", PolicyValueTypes.downstream(), "off")
            .reloads()
            .doc("Maximum number of connections that all launched workers together open, for example to a database. It"
                    + " limits the number of workers, and each worker is told its equal share. per-worker = how many each"
                    + " worker needs at least. If the share were smaller, fewer workers are launched.");
    public static final Setting<Integer> FUNCTION_MIN_SPARE_WORKERS = SCALING.setting(
                    "function.min-spare-workers", number(0, CapacityPolicy.MAX_WORKERS), "0")
            .reloads()
            .doc("Number of spare workers beyond those that the traffic needs, as long as there is traffic.");
    public static final Setting<Integer> FUNCTION_TARGET_UTILIZATION = SCALING.setting(
                    "function.target-utilization",
                    percent((int) (100 * CapacityPolicy.MIN_TARGET_UTILIZATION), 100),
                    "80%")
            .reloads()
            .doc("Part of the workers' concurrency that the current traffic may use. The rest is for rising traffic.");
    public static final Setting<Duration> FUNCTION_IDLE_TIMEOUT = SCALING.setting(
                    "function.idle-timeout", duration(), "5m")
            .reloads()
            .doc("Retires all workers except function.min-workers after this time without a request.");
    public static final Setting<Duration> FUNCTION_SCALE_DOWN_DELAY = SCALING.setting(
                    "function.scale-down-delay", duration(), "1m")
            .reloads()
            .doc("Retires a worker after this time in which the traffic did not need it.");
    public static final Setting<Duration> FUNCTION_SLOW_START = SCALING.setting(
                    "function.slow-start", durationOrOff(), "off")
            .reloads()
            .doc(
                    "Time for which a new worker gets fewer requests, as long as it reports more processor time for each than"
                            + " the other workers.");
    public static final Setting<Integer> FUNCTION_PREWARMED_ENVIRONMENTS = SCALING.setting(
                    "function.prewarmed-environments", number(0, CapacityPolicy.MAX_PREWARMED_ENVIRONMENTS), "0")
            .reloads()
            .doc(
                    "Number of spare Lambda environments that the dispatcher keeps initialised, in addition to those of the"
                            + " workers. It invokes them every 4 minutes.");

    /** Limits whose counts a route shares with its function if it sets none of them. */
    static final List<Setting<?>> LIMITS =
            List.of(FUNCTION_RATE_LIMIT, FUNCTION_MAX_CONCURRENT_REQUESTS, FUNCTION_TENANT_HEADER);

    static final List<SettingTopic> TOPICS = Stream.of(
                    List.of(FUNCTION, TRAFFIC, ADMISSION),
                    FilterExtensions.ON_CLASS_PATH.topics(),
                    List.of(FAILURE, DIRECT, LAUNCHING, SCALING))
            .flatMap(List::stream)
            .toList();

    private FunctionSettings() {}
}
