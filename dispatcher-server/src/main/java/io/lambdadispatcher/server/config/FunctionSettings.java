package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.HttpValueTypes.affinity;
import static io.lambdadispatcher.server.config.HttpValueTypes.encodingsOrOff;
import static io.lambdadispatcher.server.config.HttpValueTypes.headerNames;
import static io.lambdadispatcher.server.config.HttpValueTypes.host;
import static io.lambdadispatcher.server.config.HttpValueTypes.mediaTypes;
import static io.lambdadispatcher.server.config.HttpValueTypes.pathPrefix;
import static io.lambdadispatcher.server.config.HttpValueTypes.rateKey;
import static io.lambdadispatcher.server.config.HttpValueTypes.requestHeaderName;
import static io.lambdadispatcher.server.config.ValueType.bool;
import static io.lambdadispatcher.server.config.ValueType.choice;
import static io.lambdadispatcher.server.config.ValueType.className;
import static io.lambdadispatcher.server.config.ValueType.duration;
import static io.lambdadispatcher.server.config.ValueType.hedgeDelay;
import static io.lambdadispatcher.server.config.ValueType.number;
import static io.lambdadispatcher.server.config.ValueType.positiveDuration;
import static io.lambdadispatcher.server.config.ValueType.rateOrOff;
import static io.lambdadispatcher.server.config.ValueType.retryConditions;
import static io.lambdadispatcher.server.config.ValueType.rollout;
import static io.lambdadispatcher.server.config.ValueType.size;
import static io.lambdadispatcher.server.config.ValueType.text;

import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.CompressionPolicy;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.RolloutPolicy;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.Mode;
import io.lambdadispatcher.server.config.FunctionConfiguration.ShadowMethods;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The settings of a function, which each function of {@code functions} can have for itself, by
 * topic.
 */
public final class FunctionSettings {
    private static final ValueType<String> LAMBDA =
            text("LAMBDA", "the name or ARN of a Lambda function, with or without :alias or :version", 170);

    private static final ValueType<String> OTHER_FUNCTION = text("NAME", "the name of another function", 256);

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
            .doc("Routes only requests with this header to the function. With a value, the header must have that value."
                    + " A function with a matching header wins over functions of the same host without one.");
    public static final Setting<Integer> FUNCTION_WEIGHT = FUNCTION.setting("function.weight", number(0, 10_000), "100")
            .reloads()
            .doc("Share of the requests among functions with the same host, header and path. 0 means none."
                    + " Set it for all of them or for none.");
    public static final Setting<Affinity> FUNCTION_AFFINITY = FUNCTION.setting("function.affinity", affinity(), "none")
            .ofRoutes()
            .doc("Sends requests that belong together to the same worker. header and cookie: those with the same value"
                    + " of this header or cookie. own-cookie: those with a cookie that the dispatcher sets."
                    + " session-header: those with a session id that the worker has created in this header.");
    public static final Setting<Integer> FUNCTION_QUEUE_LIMIT = FUNCTION.setting(
                    "function.queue-limit", number(0, 10_000_000), "10000")
            .reloads()
            .doc("Maximum number of queued requests, which wait for a worker. Further requests get 503. One client "
                    + "fills at most half of the queue.");
    public static final Setting<Duration> FUNCTION_QUEUE_TIMEOUT = FUNCTION.setting(
                    "function.queue-timeout", duration(), "10s")
            .reloads()
            .doc("Maximum time that a queued request waits for a worker before it gets 503. Under lasting overload, "
                    + "when the queue has not been empty for this time, a request gets 503 after a twentieth of it, but not "
                    + "before 500 ms.");
    public static final Setting<Duration> FUNCTION_REQUEST_TIMEOUT = FUNCTION.setting(
                    "function.request-timeout", duration(), "15m")
            .reloads()
            .doc(
                    "Maximum time from dispatch to the end of the response. After it, the request gets 504, or its response"
                            + " is cut off. 0 means no limit.");

    private static final SettingTopic TRAFFIC = new SettingTopic("Deadlines and attempts");
    public static final Setting<Duration> FUNCTION_DEADLINE = TRAFFIC.setting("function.deadline", duration(), "0")
            .ofRoutes()
            .doc("Maximum time from the arrival of a request to the end of its response. The queue and all attempts"
                    + " count. After it, the request gets 504. 0 means no limit.");
    public static final Setting<List<String>> FUNCTION_DEADLINE_HEADERS = TRAFFIC.setting(
                    "function.deadline-headers", headerNames(), "")
            .ofRoutes()
            .doc("Headers with which clients set a shorter deadline: grpc-timeout, or any others with a number of"
                    + " milliseconds. Handlers receive them with the time that is left.");

    public static final Setting<Integer> FUNCTION_MAX_ATTEMPTS = TRAFFIC.setting(
                    "function.max-attempts", number(1, 5), "2")
            .ofRoutes()
            .doc("Maximum number of workers that a request is sent to: the first attempt, retries and hedges.");
    public static final Setting<Set<RetryCondition>> FUNCTION_RETRY_ON = TRAFFIC.setting(
                    "function.retry-on", retryConditions(), "refused, lost")
            .ofRoutes()
            .doc("What lets a repeatable request be sent to another worker. refused = the worker did not begin, lost ="
                    + " the worker is gone, timeout = function.attempt-timeout is over, or a status of the handler.");
    public static final Setting<Duration> FUNCTION_ATTEMPT_TIMEOUT = TRAFFIC.setting(
                    "function.attempt-timeout", duration(), "0")
            .ofRoutes()
            .doc("Sends a repeatable request to another worker if there are no headers of a response within this time"
                    + " after the worker has the complete request. It needs timeout in function.retry-on. It has no"
                    + " effect with function.hedge-after. 0 means no limit.");
    public static final Setting<HedgeDelay> FUNCTION_HEDGE_AFTER = TRAFFIC.setting(
                    "function.hedge-after", hedgeDelay(), "off")
            .ofRoutes()
            .doc("Sends a repeatable request to another worker, too, if there are no headers of a response this long"
                    + " after the last attempt, or after the worker has the complete request. p95 = the time in"
                    + " which 95 % of the recent responses began. The first response wins, whatever its status.");
    public static final Setting<Integer> FUNCTION_EXTRA_ATTEMPTS = TRAFFIC.setting(
                    "function.extra-attempts", number(0, 100), "10")
            .reloads()
            .doc("Maximum number of retries and hedges together, in percent of the requests. It is the same for all"
                    + " routes of the function.");

    private static final SettingTopic ADMISSION = new SettingTopic("Admission");
    public static final Setting<Optional<Rate>> FUNCTION_RATE_LIMIT = ADMISSION
            .setting("function.rate-limit", rateOrOff(), "off")
            .ofRoutes()
            .doc("Maximum rate of requests with the same function.rate-limit-key. Others get 429.");
    public static final Setting<Integer> FUNCTION_RATE_LIMIT_BURST = ADMISSION
            .setting("function.rate-limit-burst", number(0, 1_000_000), "0")
            .ofRoutes()
            .doc("Number of requests that function.rate-limit permits at the same time, at most its own number."
                    + " 0 means its own number.");
    public static final Setting<String> FUNCTION_RATE_LIMIT_KEY = ADMISSION
            .setting("function.rate-limit-key", rateKey(), "client")
            .ofRoutes()
            .doc("Whose requests function.rate-limit counts together: client = those of an address, route = all, or"
                    + " those with the same value of the header with this name.");
    public static final Setting<Integer> FUNCTION_MAX_REQUESTS = ADMISSION
            .setting("function.max-requests", number(0, 10_000_000), "0")
            .ofRoutes()
            .doc("Maximum number of unfinished requests, including queued ones. Others get 503. 0 means no limit.");
    public static final Setting<String> FUNCTION_TENANT_HEADER = ADMISSION
            .setting("function.tenant-header", requestHeaderName())
            .ofRoutes()
            .doc(
                    "Header that names the tenant, for function.max-tenant-requests. Clients must not be able to choose it.");
    public static final Setting<Integer> FUNCTION_MAX_TENANT_REQUESTS = ADMISSION
            .setting("function.max-tenant-requests", number(0, 10_000_000), "0")
            .ofRoutes()
            .doc("Maximum number of each tenant's unfinished requests, including queued ones. Others get 429."
                    + " 0 means no limit.");
    public static final Setting<Priority> FUNCTION_PRIORITY = ADMISSION
            .setting("function.priority", choice(Priority.class), "normal")
            .ofRoutes()
            .doc("Priority of requests if not all can be served. Sheddable ones are refused first.");
    public static final Setting<String> FUNCTION_PRIORITY_HEADER = ADMISSION
            .setting("function.priority-header", requestHeaderName())
            .ofRoutes()
            .doc("Header with a priority, which takes precedence over function.priority. Other values are ignored."
                    + " Clients must not be able to choose it.");
    public static final Setting<Duration> FUNCTION_SHED_DELAY = ADMISSION
            .setting("function.shed-delay", positiveDuration(), "100ms")
            .ofRoutes()
            .doc(
                    "Refuses a sheddable request with 503 if it would wait longer for a worker, and a normal one after four"
                            + " times as long. At most 1h. Applies only if there are priorities.");

    private static final SettingTopic RELEASE = new SettingTopic("Shadow traffic");
    public static final Setting<String> FUNCTION_SHADOW = RELEASE.setting("function.shadow", OTHER_FUNCTION)
            .ofRoutes()
            .doc("Another function, which gets copies of requests. Its responses are dropped and only compared. Clients"
                    + " never wait for it. If this is not set, no request is copied.");
    public static final Setting<Integer> FUNCTION_SHADOW_SHARE = RELEASE.setting(
                    "function.shadow-share", number(1, 100), "10")
            .ofRoutes()
            .doc("Share of the requests that is copied, in percent.");
    public static final Setting<ShadowMethods> FUNCTION_SHADOW_METHODS = RELEASE.setting(
                    "function.shadow-methods", choice(ShadowMethods.class), "safe")
            .ofRoutes()
            .doc("Methods of the requests that are copied: safe = GET, HEAD, OPTIONS and TRACE, all = every method. A"
                    + " copied POST can write twice.");

    private static final SettingTopic COMPRESSION = new SettingTopic("Compression");
    public static final Setting<List<ContentEncoding>> FUNCTION_COMPRESSION = COMPRESSION
            .setting("function.compression", encodingsOrOff(), "off")
            .ofRoutes()
            .doc("Compresses responses for clients that accept it. The first encoding wins if a client accepts several"
                    + " equally.");
    public static final Setting<List<String>> FUNCTION_COMPRESSION_TYPES = COMPRESSION
            .setting("function.compression-types", mediaTypes(), String.join(", ", CompressionPolicy.DEFAULT_TYPES))
            .ofRoutes()
            .doc("Types of the responses that are compressed.");
    public static final Setting<Integer> FUNCTION_COMPRESSION_MIN_SIZE = COMPRESSION
            .setting("function.compression-min-size", size(0, 1024 * 1024), "1KiB")
            .ofRoutes()
            .doc("Smaller responses are not compressed. Those whose size is not known in advance are.");

    private static final SettingTopic FAILURE = new SettingTopic("Breakers");
    public static final Setting<Integer> FUNCTION_BREAKER_ERRORS = FAILURE.setting(
                    "function.breaker-errors", number(0, 100), "0")
            .ofRoutes()
            .doc(
                    "Opens the breaker if this share of the requests fails, in percent, with responses of 5xx, lost workers"
                            + " or timeouts. While it is open, requests get 503 immediately. 0 means no breaker.");
    public static final Setting<Duration> FUNCTION_BREAKER_LATENCY = FAILURE.setting(
                    "function.breaker-latency", duration(), "0")
            .ofRoutes()
            .doc("Time without the headers of a response after which a request has failed for function.breaker-errors."
                    + " It begins when a worker has the complete request. 0 means no limit.");
    public static final Setting<Duration> FUNCTION_BREAKER_OPEN = FAILURE.setting(
                    "function.breaker-open", positiveDuration(), "5s")
            .ofRoutes()
            .doc(
                    "Time for which the breaker is open, up to four times as long if it opens again. Then 20 % of the requests"
                            + " pass for this time, then 60 %. 100ms to 1h.");

    private static final SettingTopic CACHE = new SettingTopic("Stored responses");
    public static final Setting<Boolean> FUNCTION_CACHE = CACHE.setting("function.cache", bool(), "false")
            .ofRoutes()
            .doc("Stores responses whose cache-control or expires allows it, and answers later requests with them."
                    + " Identical requests in flight share one response.");
    public static final Setting<Duration> FUNCTION_CACHE_STALE_IF_ERROR = CACHE.setting(
                    "function.cache-stale-if-error", duration(), "0s")
            .ofRoutes()
            .doc(
                    "For this time after the end of its freshness, a stored response replaces an error, unless the response"
                            + " says another time. At most 365d.");
    public static final Setting<Integer> FUNCTION_CACHE_MAX_BODY = CACHE.setting(
                    "function.cache-max-body", size(1, 64 << 20), "1MiB")
            .ofRoutes()
            .doc("Size of the largest body that is stored.");

    private static final SettingTopic DIRECT = new SettingTopic("Direct requests");
    public static final Setting<Mode> FUNCTION_MODE = DIRECT.setting("function.mode", choice(Mode.class), "dispatch")
            .doc(
                    "How requests reach the function: dispatch = through workers, direct = each request as one Lambda invocation.");
    public static final Setting<DirectEventFormat> FUNCTION_EVENT_FORMAT = DIRECT.setting(
                    "function.event-format", choice(DirectEventFormat.class), "http-api-v2")
            .doc("Event format in which the function sees direct requests. It also sets their size limits.");
    public static final Setting<Boolean> FUNCTION_DIRECT_OVERFLOW = DIRECT.setting(
                    "function.direct-overflow", bool(), "false")
            .doc(
                    "In mode dispatch, sends an idempotent request directly if it waits for a worker longer than function.direct-overflow-after.");
    public static final Setting<Duration> FUNCTION_DIRECT_OVERFLOW_AFTER = DIRECT.setting(
                    "function.direct-overflow-after", duration(), "1s")
            .doc("Time after which function.direct-overflow sends a queued request directly: at least 10ms and less"
                    + " than function.queue-timeout.");
    public static final Setting<String> FUNCTION_DIRECT_LAMBDA = DIRECT.setting("function.direct-lambda", LAMBDA)
            .doc("Lambda function that direct requests invoke. If it is not set, function.lambda is invoked. That "
                    + "function must then handle both events and launches of workers.");
    public static final Setting<Integer> FUNCTION_DIRECT_LIMIT = DIRECT.setting(
                    "function.direct-limit", number(1, 100_000), "1000")
            .doc(
                    "Maximum number of direct requests in flight. Further requests get 503. The same maximum applies "
                            + "separately to direct requests whose body is still arriving, of which one client has at most half.");

    private static final SettingTopic LAUNCHING = new SettingTopic("Launching workers");
    public static final Setting<Launcher> FUNCTION_LAUNCHER = LAUNCHING
            .setting("function.launcher", choice(Launcher.class), "self")
            .doc(
                    "Who launches workers: self = you, local = the dispatcher as processes on this machine, lambda = the dispatcher"
                            + " on AWS Lambda.");
    public static final Setting<List<byte[]>> FUNCTION_SECRET = LAUNCHING
            .setting("function.secret", ValueType.secrets())
            .reloads()
            .doc("Secret of this function's workers, instead of workers.secret. With it, they cannot take the requests"
                    + " of other functions.");
    public static final Setting<List<byte[]>> FUNCTION_SECRET_FILE = LAUNCHING
            .setting("function.secret-file", ValueType.secretsFile())
            .reloads()
            .doc(
                    "File that holds the function's secret in its first line, instead of function.secret. Further lines are"
                            + " as in workers.secret-file.");
    public static final Setting<String> FUNCTION_LAMBDA = LAUNCHING
            .setting("function.lambda", LAMBDA)
            .doc("Lambda function that runs the workers. If it is not set, its name is function.name.");
    public static final Setting<String> FUNCTION_HANDLER = LAUNCHING
            .setting("function.handler", className())
            .reloads()
            .doc("Handler class of local workers. It must be on their class path.");
    public static final Setting<Integer> FUNCTION_CONNECTIONS = LAUNCHING
            .setting("function.connections", number(1, 64), "1")
            .doc("Number of connections that each launched worker opens, and the maximum for a self-launched worker.");
    public static final Setting<Integer> FUNCTION_STREAMS = LAUNCHING
            .setting("function.streams", number(1, 1000), "100")
            .doc("Maximum number of requests in flight on each connection of a worker.");
    public static final Setting<Duration> FUNCTION_LAUNCH_TIMEOUT = LAUNCHING
            .setting("function.launch-timeout", positiveDuration(), "30s")
            .reloads()
            .doc("Maximum time from the launch of a worker until it connects to the dispatcher. After it, the launch "
                    + "counts as failed.");
    public static final Setting<Duration> FUNCTION_MAX_WORKER_AGE = LAUNCHING
            .setting("function.max-worker-age", duration(), "0")
            .reloads()
            .doc("Replaces a worker before it reaches this age. 0 means that only the launcher limits the age.");
    public static final Setting<Integer> FUNCTION_LAUNCHES_PER_MINUTE = LAUNCHING
            .setting("function.launches-per-minute", number(1, 1_000_000), "300")
            .reloads()
            .doc("Maximum number of launches in any 60 seconds, including failed ones.");
    public static final Setting<Integer> FUNCTION_SPENDING_LIMIT = LAUNCHING
            .setting("function.spending-limit", number(0, 2_000_000_000), "0")
            .reloads()
            .doc(
                    "Maximum GB-seconds of workers in any hour. Workers are retired before it is reached. 0 means no limit.");
    public static final Setting<Integer> FUNCTION_WORKER_MEMORY = LAUNCHING
            .setting("function.worker-memory", number(1, 1_000_000), "512")
            .reloads()
            .doc("Memory of one worker in MB, from which function.spending-limit calculates GB-seconds.");

    public static final Setting<Duration> FUNCTION_VERSION_CHECK = LAUNCHING
            .setting("function.version-check", positiveDuration(), "30s")
            .reloads()
            .doc(
                    "If function.lambda names an alias, the dispatcher asks AWS at this interval which version the alias has.");
    public static final Setting<RolloutPolicy> FUNCTION_ROLLOUT = LAUNCHING
            .setting("function.rollout", rollout(), "fast")
            .reloads()
            .doc(
                    "How workers of a new version replace the others. fast is 10% for 2m: a tenth of the workers has the new"
                            + " version for 2 min, then all get it. careful is 10% 50% for 5m. Each step also lasts until the new version has"
                            + " answered 50 requests. If it fails more often or is slower, the old version keeps serving. off: the"
                            + " dispatcher does not follow the alias, and new workers have the version that the alias names.");

    private static final SettingTopic SCALING = new SettingTopic("Scaling workers");
    public static final Setting<Integer> FUNCTION_MIN_WORKERS = SCALING.setting(
                    "function.min-workers", number(0, 100_000), "0")
            .reloads()
            .doc("Minimum number of launched workers.");
    public static final Setting<Integer> FUNCTION_MAX_WORKERS = SCALING.setting(
                    "function.max-workers", number(0, 100_000), "0")
            .reloads()
            .doc("Maximum number of launched workers. While workers are being replaced, there can be up to twice as "
                    + "many. It applies to the launchers local and lambda, and must be 0 with launcher self.");
    public static final Setting<Integer> FUNCTION_DOWNSTREAM_CONNECTIONS = SCALING.setting(
                    "function.downstream-connections", number(0, 100_000_000), "0")
            .reloads()
            .doc("Maximum number of connections that all launched workers together open, for example to a database. It"
                    + " limits the number of workers, and each worker is told its equal share. 0 means no limit.");
    public static final Setting<Integer> FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER = SCALING.setting(
                    "function.downstream-connections-per-worker", number(1, 1_000_000), "1")
            .reloads()
            .doc(
                    "Number of these connections that each worker needs at least. If the share were smaller, fewer workers "
                            + "are launched.");
    public static final Setting<Integer> FUNCTION_WARM_WORKERS = SCALING.setting(
                    "function.warm-workers", number(0, 100_000), "0")
            .reloads()
            .doc("Number of spare workers beyond those that the traffic needs, as long as there is traffic.");
    public static final Setting<Integer> FUNCTION_HEADROOM = SCALING.setting("function.headroom", number(0, 1000), "25")
            .reloads()
            .doc("Spare capacity for rising traffic, in percent of the capacity that the current traffic needs.");
    public static final Setting<Duration> FUNCTION_IDLE_AFTER = SCALING.setting("function.idle-after", duration(), "5m")
            .reloads()
            .doc("Retires all workers except function.min-workers after this time without a request.");
    public static final Setting<Duration> FUNCTION_SCALE_IN_AFTER = SCALING.setting(
                    "function.scale-in-after", duration(), "1m")
            .reloads()
            .doc("Retires a worker after this time in which the traffic did not need it.");
    public static final Setting<Duration> FUNCTION_SLOW_START = SCALING.setting("function.slow-start", duration(), "0")
            .reloads()
            .doc(
                    "Time for which a new worker gets fewer requests, as long as it reports more processor time for each than"
                            + " the other workers. 0 means never.");
    public static final Setting<Integer> FUNCTION_WARM_ENVIRONMENTS = SCALING.setting(
                    "function.warm-environments", number(0, 1000), "0")
            .reloads()
            .doc(
                    "Number of spare Lambda environments that the dispatcher keeps initialised, in addition to those of the"
                            + " workers. It invokes them every 4 minutes.");

    /** Limits whose counts a route shares with its function if it sets none of them. */
    static final List<Setting<?>> LIMITS = List.of(
            FUNCTION_RATE_LIMIT,
            FUNCTION_RATE_LIMIT_BURST,
            FUNCTION_RATE_LIMIT_KEY,
            FUNCTION_MAX_REQUESTS,
            FUNCTION_TENANT_HEADER,
            FUNCTION_MAX_TENANT_REQUESTS);

    static final List<SettingTopic> TOPICS =
            List.of(FUNCTION, TRAFFIC, ADMISSION, RELEASE, COMPRESSION, FAILURE, CACHE, DIRECT, LAUNCHING, SCALING);

    private FunctionSettings() {}
}
