package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.HttpValueTypes.affinity;
import static io.lambdadispatcher.server.config.HttpValueTypes.encodingsOrOff;
import static io.lambdadispatcher.server.config.HttpValueTypes.headerName;
import static io.lambdadispatcher.server.config.HttpValueTypes.headerNames;
import static io.lambdadispatcher.server.config.HttpValueTypes.host;
import static io.lambdadispatcher.server.config.HttpValueTypes.hostNames;
import static io.lambdadispatcher.server.config.HttpValueTypes.mediaTypes;
import static io.lambdadispatcher.server.config.HttpValueTypes.pathPrefix;
import static io.lambdadispatcher.server.config.HttpValueTypes.rateKey;
import static io.lambdadispatcher.server.config.HttpValueTypes.requestHeaderName;
import static io.lambdadispatcher.server.config.ValueType.addresses;
import static io.lambdadispatcher.server.config.ValueType.allOf;
import static io.lambdadispatcher.server.config.ValueType.bool;
import static io.lambdadispatcher.server.config.ValueType.choice;
import static io.lambdadispatcher.server.config.ValueType.choices;
import static io.lambdadispatcher.server.config.ValueType.className;
import static io.lambdadispatcher.server.config.ValueType.duration;
import static io.lambdadispatcher.server.config.ValueType.file;
import static io.lambdadispatcher.server.config.ValueType.hedgeDelay;
import static io.lambdadispatcher.server.config.ValueType.number;
import static io.lambdadispatcher.server.config.ValueType.numberOrAuto;
import static io.lambdadispatcher.server.config.ValueType.path;
import static io.lambdadispatcher.server.config.ValueType.port;
import static io.lambdadispatcher.server.config.ValueType.portOrOff;
import static io.lambdadispatcher.server.config.ValueType.positiveDuration;
import static io.lambdadispatcher.server.config.ValueType.rateOrOff;
import static io.lambdadispatcher.server.config.ValueType.ratio;
import static io.lambdadispatcher.server.config.ValueType.retryConditions;
import static io.lambdadispatcher.server.config.ValueType.rollout;
import static io.lambdadispatcher.server.config.ValueType.size;
import static io.lambdadispatcher.server.config.ValueType.sizeOrAuto;
import static io.lambdadispatcher.server.config.ValueType.text;
import static io.lambdadispatcher.server.config.ValueType.uri;
import static io.lambdadispatcher.server.config.ValueType.variables;
import static io.lambdadispatcher.server.config.ValueType.words;

import io.lambdadispatcher.core.observe.AccessField;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.CompressionPolicy;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.RolloutPolicy;
import io.lambdadispatcher.core.options.TlsProfile;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.Mode;
import io.lambdadispatcher.server.config.FunctionConfiguration.ShadowMethods;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * The table of settings, by topic. Parsing, {@code --help-all}, {@code check-config} and
 * docs/reference/configuration.md all come from it, in the order of the declarations.
 */
public final class Settings {
    private static final List<Topic> TOPICS = new ArrayList<>();

    private static final ValueType<String> HOST = text("HOST", "a host name or an IP address", 255);
    private static final ValueType<String> LAMBDA =
            text("LAMBDA", "the name or ARN of a Lambda function, with or without :alias or :version", 170);

    private static final ValueType<String> OTHER_FUNCTION = text("NAME", "the name of another function", 256);

    private static final Topic PUBLIC = new Topic("Public ports");
    public static final Setting<String> PUBLIC_PLAIN_HOST =
            PUBLIC.setting("public.plain.host", HOST, "0.0.0.0").doc("Address that the plain-text port listens on.");
    public static final Setting<OptionalInt> PUBLIC_PLAIN_PORT = PUBLIC.setting(
                    "public.plain.port", portOrOff(), "8080")
            .doc("Port for clients without TLS: HTTP/1.1 and h2c.");
    public static final Setting<Boolean> PUBLIC_PLAIN_PROXY_PROTOCOL = PUBLIC.setting(
                    "public.plain.proxy-protocol", bool(), "false")
            .doc(
                    "Requires a PROXY header, version 1 or 2, at the beginning of each connection to the plain-text port. It"
                            + " names the client's address. Only the load balancer that sends it may reach the port.");
    public static final Setting<String> PUBLIC_TLS_HOST =
            PUBLIC.setting("public.tls.host", HOST, "0.0.0.0").doc("Address that the TLS port listens on.");
    public static final Setting<OptionalInt> PUBLIC_TLS_PORT = PUBLIC.setting("public.tls.port", portOrOff(), "8443")
            .doc("Port for clients with TLS: HTTP/1.1 and h2. It opens if public.tls.certificate is set.");
    public static final Setting<Boolean> PUBLIC_TLS_PROXY_PROTOCOL = PUBLIC.setting(
                    "public.tls.proxy-protocol", bool(), "false")
            .doc("Requires a PROXY header, version 1 or 2, before TLS on each connection to the TLS port. It names the"
                    + " client's address. Only the load balancer that sends it may reach the port.");
    public static final Setting<Path> PUBLIC_TLS_CERTIFICATE = PUBLIC.setting("public.tls.certificate", file())
            .doc("PEM file with the certificate chain of the TLS port. The port's own certificate comes first.");
    public static final Setting<Path> PUBLIC_TLS_KEY = PUBLIC.setting("public.tls.key", file())
            .doc("PEM file with the private key of the TLS port: PKCS #8, PKCS #1 or SEC 1, unencrypted.");
    public static final Setting<TlsProfile> PUBLIC_TLS_PROFILE = PUBLIC.setting(
                    "public.tls.profile", choice(TlsProfile.class), "intermediate")
            .doc(
                    "Versions and cipher suites of the TLS port: intermediate = TLS 1.3 and 1.2 with forward secrecy, modern ="
                            + " TLS 1.3 only.");
    public static final Setting<Path> PUBLIC_TLS_CLIENT_CERTIFICATES = PUBLIC.setting(
                    "public.tls.client-certificates", file())
            .doc(
                    "PEM file with certificate authorities. Clients must present a certificate that one of them issued, and that is"
                            + " not in a revocation list (CRL) of the file.");

    public static final Setting<String> PUBLIC_HEALTH_CHECK = PUBLIC.setting(
                    "public.health-check", HttpValueTypes.healthCheck())
            .doc("Path of a load balancer's health checks on the public ports, and optionally the beginning of its user"
                    + " agent. The dispatcher answers them like /ready. If it is not set, they reach a function, and keep"
                    + " its workers alive.");

    private static final Topic WORKERS = new Topic("Worker port");
    public static final Setting<String> WORKERS_HOST =
            WORKERS.setting("workers.host", HOST, "0.0.0.0").doc("Address that the worker port listens on.");
    public static final Setting<Integer> WORKERS_PORT =
            WORKERS.setting("workers.port", port(), "8444").doc("Port that workers connect to.");
    public static final Setting<Path> WORKERS_TLS_CERTIFICATE = WORKERS.setting(
                    "workers.tls.certificate", ValueType.fileOrOff())
            .doc("PEM file with the certificate chain of the worker port, or off for no TLS. If it is not set, the port"
                    + " has TLS with a key that follows from workers.secret, which workers accept without a file.");
    public static final Setting<Path> WORKERS_TLS_KEY = WORKERS.setting("workers.tls.key", file())
            .doc("PEM file with the private key of the worker port: PKCS #8, PKCS #1 or SEC 1, unencrypted.");
    public static final Setting<Path> WORKERS_TLS_CLIENT_CERTIFICATES = WORKERS.setting(
                    "workers.tls.client-certificates", file())
            .doc("PEM file with certificate authorities. Workers must present a certificate that one of them issued.");
    public static final Setting<List<byte[]>> WORKERS_SECRET = WORKERS.setting("workers.secret", ValueType.secrets())
            .doc("Secret from which the key of each function is derived. The key signs launch tokens. Self-launched"
                    + " workers need the secret, or their function's key. The key of the worker port follows from it, so"
                    + " the secret must be random.");
    public static final Setting<List<byte[]>> WORKERS_SECRET_FILE = WORKERS.setting(
                    "workers.secret-file", ValueType.secretsFile())
            .doc("File that holds the shared secret in its first line, instead of workers.secret. Launch tokens of the"
                    + " secrets in further lines are accepted, too, so that the secret can be replaced.");
    public static final Setting<List<InetSocketAddress>> WORKERS_ADVERTISED_ADDRESSES = WORKERS.setting(
                    "workers.advertised-addresses", addresses(), "")
            .doc("Addresses of the dispatcher that launched workers connect to; port 0 means the worker port. If it is "
                    + "not set, local workers connect to loopback, and workers on Lambda to an address that the dispatcher "
                    + "detects.");
    public static final Setting<Duration> WORKERS_PING_INTERVAL = WORKERS.setting(
                    "workers.ping-interval", positiveDuration(), "2s")
            .doc("Pings a worker connection after this time without traffic.");
    public static final Setting<Duration> WORKERS_PING_TIMEOUT = WORKERS.setting(
                    "workers.ping-timeout", positiveDuration(), "3s")
            .doc("Closes a worker connection that does not answer a ping within this time.");

    private static final Topic FUNCTION = new Topic("Functions and their routes");
    public static final Setting<String> FUNCTION_NAME = FUNCTION.setting(
                    "function.name", text("NAME", "1 to 256 characters", 256), "default")
            .doc("Name of the function.");
    public static final Setting<String> FUNCTION_PATH = FUNCTION.setting("function.path", pathPrefix(), "/")
            .doc(
                    "Routes requests at or below this path to the function. Only whole path segments match. The longest path wins.");
    public static final Setting<String> FUNCTION_HOST = FUNCTION.setting("function.host", host())
            .doc("Routes only requests for this host to the function. *.example.org matches any subdomain."
                    + " A function with a matching host wins over functions without one.");
    public static final Setting<Route.Header> FUNCTION_HEADER = FUNCTION.setting(
                    "function.header", HttpValueTypes.header())
            .doc("Routes only requests with this header to the function. With a value, the header must have that value."
                    + " A function with a matching header wins over functions of the same host without one.");
    public static final Setting<Integer> FUNCTION_WEIGHT = FUNCTION.setting("function.weight", number(0, 10_000), "100")
            .doc("Share of the requests among functions with the same host, header and path. 0 means none."
                    + " Set it for all of them or for none.");
    public static final Setting<Affinity> FUNCTION_AFFINITY = FUNCTION.setting("function.affinity", affinity(), "none")
            .doc("Sends requests that belong together to the same worker. header and cookie: those with the same value"
                    + " of this header or cookie. own-cookie: those with a cookie that the dispatcher sets."
                    + " session-header: those with a session id that the worker has created in this header.");
    public static final Setting<Integer> FUNCTION_QUEUE_LIMIT = FUNCTION.setting(
                    "function.queue-limit", number(0, 10_000_000), "10000")
            .doc("Maximum number of queued requests, which wait for a worker. Further requests get 503. One client "
                    + "fills at most half of the queue.");
    public static final Setting<Duration> FUNCTION_QUEUE_TIMEOUT = FUNCTION.setting(
                    "function.queue-timeout", duration(), "10s")
            .doc("Maximum time that a queued request waits for a worker before it gets 503. Under lasting overload, "
                    + "when the queue has not been empty for this time, a request gets 503 after a twentieth of it, but not "
                    + "before 500 ms.");
    public static final Setting<Duration> FUNCTION_REQUEST_TIMEOUT = FUNCTION.setting(
                    "function.request-timeout", duration(), "15m")
            .doc(
                    "Maximum time from dispatch to the end of the response. After it, the request gets 504, or its response"
                            + " is cut off. 0 means no limit.");

    private static final Topic TRAFFIC = new Topic("Deadlines and attempts");
    public static final Setting<Duration> FUNCTION_DEADLINE = TRAFFIC.setting("function.deadline", duration(), "0")
            .doc("Maximum time from the arrival of a request to the end of its response. The queue and all attempts"
                    + " count. After it, the request gets 504. 0 means no limit.");
    public static final Setting<List<String>> FUNCTION_DEADLINE_HEADERS = TRAFFIC.setting(
                    "function.deadline-headers", headerNames(), "")
            .doc("Headers with which clients set a shorter deadline: grpc-timeout, or any others with a number of"
                    + " milliseconds. Handlers receive them with the time that is left.");

    public static final Setting<Integer> FUNCTION_MAX_ATTEMPTS = TRAFFIC.setting(
                    "function.max-attempts", number(1, 5), "2")
            .doc("Maximum number of workers that a request is sent to: the first attempt, retries and hedges.");
    public static final Setting<Set<RetryCondition>> FUNCTION_RETRY_ON = TRAFFIC.setting(
                    "function.retry-on", retryConditions(), "refused, lost")
            .doc("What lets a repeatable request be sent to another worker. refused = the worker did not begin, lost ="
                    + " the worker is gone, timeout = function.attempt-timeout is over, or a status of the handler.");
    public static final Setting<Duration> FUNCTION_ATTEMPT_TIMEOUT = TRAFFIC.setting(
                    "function.attempt-timeout", duration(), "0")
            .doc(
                    "Sends a repeatable request to another worker if there are no headers of a response within this time"
                            + " after the worker has the complete request. It needs timeout in function.retry-on. 0 means no limit.");
    public static final Setting<HedgeDelay> FUNCTION_HEDGE_AFTER = TRAFFIC.setting(
                    "function.hedge-after", hedgeDelay(), "off")
            .doc(
                    "Sends a repeatable request to a second worker, too, if there are no headers of a response this long"
                            + " after the worker has the complete request. p95 = the time in which 95 % of the recent responses began. The first response wins.");
    public static final Setting<Integer> FUNCTION_EXTRA_ATTEMPTS = TRAFFIC.setting(
                    "function.extra-attempts", number(0, 100), "10")
            .doc("Maximum number of retries and hedges together, in percent of the requests. It is the same for all"
                    + " routes of the function.");

    private static final Topic ADMISSION = new Topic("Admission");
    public static final Setting<Optional<Rate>> FUNCTION_RATE_LIMIT = ADMISSION
            .setting("function.rate-limit", rateOrOff(), "off")
            .doc("Maximum rate of requests with the same function.rate-limit-key. Others get 429.");
    public static final Setting<Integer> FUNCTION_RATE_LIMIT_BURST = ADMISSION
            .setting("function.rate-limit-burst", number(0, 1_000_000), "0")
            .doc("Number of requests that function.rate-limit permits at the same time, at most its own number."
                    + " 0 means its own number.");
    public static final Setting<String> FUNCTION_RATE_LIMIT_KEY = ADMISSION
            .setting("function.rate-limit-key", rateKey(), "client")
            .doc("Whose requests function.rate-limit counts together: client = those of an address, route = all, or"
                    + " those with the same value of the header with this name.");
    public static final Setting<Integer> FUNCTION_MAX_REQUESTS = ADMISSION
            .setting("function.max-requests", number(0, 10_000_000), "0")
            .doc("Maximum number of unfinished requests, including queued ones. Others get 503. 0 means no limit.");
    public static final Setting<String> FUNCTION_TENANT_HEADER = ADMISSION
            .setting("function.tenant-header", requestHeaderName())
            .doc(
                    "Header that names the tenant, for function.max-tenant-requests. Clients must not be able to choose it.");
    public static final Setting<Integer> FUNCTION_MAX_TENANT_REQUESTS = ADMISSION
            .setting("function.max-tenant-requests", number(0, 10_000_000), "0")
            .doc("Maximum number of each tenant's unfinished requests, including queued ones. Others get 429."
                    + " 0 means no limit.");
    public static final Setting<Priority> FUNCTION_PRIORITY = ADMISSION
            .setting("function.priority", choice(Priority.class), "normal")
            .doc("Priority of requests if not all can be served. Sheddable ones are refused first.");
    public static final Setting<String> FUNCTION_PRIORITY_HEADER = ADMISSION
            .setting("function.priority-header", requestHeaderName())
            .doc("Header with a priority, which takes precedence over function.priority. Other values are ignored."
                    + " Clients must not be able to choose it.");
    public static final Setting<Duration> FUNCTION_SHED_DELAY = ADMISSION
            .setting("function.shed-delay", positiveDuration(), "100ms")
            .doc(
                    "Refuses a sheddable request with 503 if it would wait longer for a worker, and a normal one after four"
                            + " times as long. At most 1h. Applies only if there are priorities.");

    private static final Topic RELEASE = new Topic("Shadow traffic");
    public static final Setting<String> FUNCTION_SHADOW = RELEASE.setting("function.shadow", OTHER_FUNCTION)
            .doc("Another function, which gets copies of requests. Its responses are dropped and only compared. Clients"
                    + " never wait for it. If this is not set, no request is copied.");
    public static final Setting<Integer> FUNCTION_SHADOW_SHARE = RELEASE.setting(
                    "function.shadow-share", number(1, 100), "10")
            .doc("Share of the requests that is copied, in percent.");
    public static final Setting<ShadowMethods> FUNCTION_SHADOW_METHODS = RELEASE.setting(
                    "function.shadow-methods", choice(ShadowMethods.class), "safe")
            .doc("Methods of the requests that are copied: safe = GET, HEAD, OPTIONS and TRACE, all = every method. A"
                    + " copied POST can write twice.");

    private static final Topic COMPRESSION = new Topic("Compression");
    public static final Setting<List<ContentEncoding>> FUNCTION_COMPRESSION = COMPRESSION
            .setting("function.compression", encodingsOrOff(), "off")
            .doc("Compresses responses for clients that accept it. The first encoding wins if a client accepts several"
                    + " equally.");
    public static final Setting<List<String>> FUNCTION_COMPRESSION_TYPES = COMPRESSION
            .setting("function.compression-types", mediaTypes(), String.join(", ", CompressionPolicy.DEFAULT_TYPES))
            .doc("Types of the responses that are compressed.");
    public static final Setting<Integer> FUNCTION_COMPRESSION_MIN_SIZE = COMPRESSION
            .setting("function.compression-min-size", size(0, 1024 * 1024), "1KiB")
            .doc("Smaller responses are not compressed. Those whose size is not known in advance are.");

    private static final Topic FAILURE = new Topic("Breakers");
    public static final Setting<Integer> FUNCTION_BREAKER_ERRORS = FAILURE.setting(
                    "function.breaker-errors", number(0, 100), "0")
            .doc(
                    "Opens the breaker if this share of the requests fails, in percent, with responses of 5xx, lost workers"
                            + " or timeouts. While it is open, requests get 503 immediately. 0 means no breaker.");
    public static final Setting<Duration> FUNCTION_BREAKER_LATENCY = FAILURE.setting(
                    "function.breaker-latency", duration(), "0")
            .doc("Time without the headers of a response after which a request has failed for function.breaker-errors."
                    + " It begins when a worker has the complete request. 0 means no limit.");
    public static final Setting<Duration> FUNCTION_BREAKER_OPEN = FAILURE.setting(
                    "function.breaker-open", positiveDuration(), "5s")
            .doc(
                    "Time for which the breaker is open, up to four times as long if it opens again. Then 20 % of the requests"
                            + " pass for this time, then 60 %. 100ms to 1h.");

    private static final Topic CACHE = new Topic("Stored responses");
    public static final Setting<Boolean> FUNCTION_CACHE = CACHE.setting("function.cache", bool(), "false")
            .doc("Stores responses whose cache-control or expires allows it, and answers later requests with them."
                    + " Identical requests in flight share one response.");
    public static final Setting<Duration> FUNCTION_CACHE_STALE_IF_ERROR = CACHE.setting(
                    "function.cache-stale-if-error", duration(), "0s")
            .doc(
                    "For this time after the end of its freshness, a stored response replaces an error, unless the response"
                            + " says another time. At most 365d.");
    public static final Setting<Integer> FUNCTION_CACHE_MAX_BODY = CACHE.setting(
                    "function.cache-max-body", size(1, 64 << 20), "1MiB")
            .doc("Size of the largest body that is stored.");

    private static final Topic DIRECT = new Topic("Direct requests");
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

    private static final Topic LAUNCHING = new Topic("Launching workers");
    public static final Setting<Launcher> FUNCTION_LAUNCHER = LAUNCHING
            .setting("function.launcher", choice(Launcher.class), "self")
            .doc(
                    "Who launches workers: self = you, local = the dispatcher as processes on this machine, lambda = the dispatcher"
                            + " on AWS Lambda.");
    public static final Setting<List<byte[]>> FUNCTION_SECRET = LAUNCHING
            .setting("function.secret", ValueType.secrets())
            .doc("Secret of this function's workers, instead of workers.secret. With it, they cannot take the requests"
                    + " of other functions.");
    public static final Setting<List<byte[]>> FUNCTION_SECRET_FILE = LAUNCHING
            .setting("function.secret-file", ValueType.secretsFile())
            .doc(
                    "File that holds the function's secret in its first line, instead of function.secret. Further lines are"
                            + " as in workers.secret-file.");
    public static final Setting<String> FUNCTION_LAMBDA = LAUNCHING
            .setting("function.lambda", LAMBDA)
            .doc("Lambda function that runs the workers. If it is not set, its name is function.name.");
    public static final Setting<String> FUNCTION_HANDLER = LAUNCHING
            .setting("function.handler", className())
            .doc("Handler class of local workers. It must be on their class path.");
    public static final Setting<Integer> FUNCTION_CONNECTIONS = LAUNCHING
            .setting("function.connections", number(1, 64), "1")
            .doc("Number of connections that each launched worker opens, and the maximum for a self-launched worker.");
    public static final Setting<Integer> FUNCTION_STREAMS = LAUNCHING
            .setting("function.streams", number(1, 1000), "100")
            .doc("Maximum number of requests in flight on each connection of a worker.");
    public static final Setting<Duration> FUNCTION_LAUNCH_TIMEOUT = LAUNCHING
            .setting("function.launch-timeout", positiveDuration(), "30s")
            .doc("Maximum time from the launch of a worker until it connects to the dispatcher. After it, the launch "
                    + "counts as failed.");
    public static final Setting<Duration> FUNCTION_MAX_WORKER_AGE = LAUNCHING
            .setting("function.max-worker-age", duration(), "0")
            .doc("Replaces a worker before it reaches this age. 0 means that only the launcher limits the age.");
    public static final Setting<Integer> FUNCTION_LAUNCHES_PER_MINUTE = LAUNCHING
            .setting("function.launches-per-minute", number(1, 1_000_000), "300")
            .doc("Maximum number of launches in any 60 seconds, including failed ones.");
    public static final Setting<Integer> FUNCTION_SPENDING_LIMIT = LAUNCHING
            .setting("function.spending-limit", number(0, 2_000_000_000), "0")
            .doc(
                    "Maximum GB-seconds of workers in any hour. Workers are retired before it is reached. 0 means no limit.");
    public static final Setting<Integer> FUNCTION_WORKER_MEMORY = LAUNCHING
            .setting("function.worker-memory", number(1, 1_000_000), "512")
            .doc("Memory of one worker in MB, from which function.spending-limit calculates GB-seconds.");

    public static final Setting<Duration> FUNCTION_VERSION_CHECK = LAUNCHING
            .setting("function.version-check", positiveDuration(), "30s")
            .doc(
                    "If function.lambda names an alias, the dispatcher asks AWS at this interval which version the alias has.");
    public static final Setting<RolloutPolicy> FUNCTION_ROLLOUT = LAUNCHING
            .setting("function.rollout", rollout(), "fast")
            .doc(
                    "How workers of a new version replace the others. fast is 10% for 2m: a tenth of the workers has the new"
                            + " version for 2 min, then all get it. careful is 10% 50% for 5m. Each step also lasts until the new version has"
                            + " answered 50 requests. If it fails more often or is slower, the old version keeps serving. off: the"
                            + " dispatcher does not follow the alias, and new workers have the version that the alias names.");

    private static final Topic SCALING = new Topic("Scaling workers");
    public static final Setting<Integer> FUNCTION_MIN_WORKERS =
            SCALING.setting("function.min-workers", number(0, 100_000), "0").doc("Minimum number of launched workers.");
    public static final Setting<Integer> FUNCTION_MAX_WORKERS = SCALING.setting(
                    "function.max-workers", number(0, 100_000), "0")
            .doc("Maximum number of launched workers. While workers are being replaced, there can be up to twice as "
                    + "many. It applies to the launchers local and lambda, and must be 0 with launcher self.");
    public static final Setting<Integer> FUNCTION_DOWNSTREAM_CONNECTIONS = SCALING.setting(
                    "function.downstream-connections", number(0, 100_000_000), "0")
            .doc("Maximum number of connections that all launched workers together open, for example to a database. It"
                    + " limits the number of workers, and each worker is told its equal share. 0 means no limit.");
    public static final Setting<Integer> FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER = SCALING.setting(
                    "function.downstream-connections-per-worker", number(1, 1_000_000), "1")
            .doc(
                    "Number of these connections that each worker needs at least. If the share were smaller, fewer workers "
                            + "are launched.");
    public static final Setting<Integer> FUNCTION_WARM_WORKERS = SCALING.setting(
                    "function.warm-workers", number(0, 100_000), "0")
            .doc("Number of spare workers beyond those that the traffic needs, as long as there is traffic.");
    public static final Setting<Integer> FUNCTION_HEADROOM = SCALING.setting("function.headroom", number(0, 1000), "25")
            .doc("Spare capacity for rising traffic, in percent of the capacity that the current traffic needs.");
    public static final Setting<Duration> FUNCTION_IDLE_AFTER = SCALING.setting("function.idle-after", duration(), "5m")
            .doc("Retires all workers except function.min-workers after this time without a request.");
    public static final Setting<Duration> FUNCTION_SCALE_IN_AFTER = SCALING.setting(
                    "function.scale-in-after", duration(), "1m")
            .doc("Retires a worker after this time in which the traffic did not need it.");
    public static final Setting<Duration> FUNCTION_SLOW_START = SCALING.setting("function.slow-start", duration(), "0")
            .doc(
                    "Time for which a new worker gets fewer requests, as long as it reports more processor time for each than"
                            + " the other workers. 0 means never.");
    public static final Setting<Integer> FUNCTION_WARM_ENVIRONMENTS = SCALING.setting(
                    "function.warm-environments", number(0, 1000), "0")
            .doc(
                    "Number of spare Lambda environments that the dispatcher keeps initialised, in addition to those of the"
                            + " workers. It invokes them every 4 minutes.");

    private static final Topic LOCAL = new Topic("Local workers");
    public static final Setting<Path> LOCAL_JAVA = LOCAL.setting("local.java", path())
            .doc(
                    "Java program that runs local workers. If it is not set, the Java program of the dispatcher runs them.");
    public static final Setting<List<String>> LOCAL_JVM_FLAGS = LOCAL.setting(
                    "local.jvm-flags", words("FLAGS", "JVM flags, separated by spaces"), "-Xmx256m")
            .doc("JVM flags of local workers.");
    public static final Setting<String> LOCAL_CLASS_PATH = LOCAL.setting(
                    "local.class-path", text("PATHS", "a class path", 1 << 20))
            .doc("Class path of local workers. It comes before the class path of the dispatcher.");
    public static final Setting<List<String>> LOCAL_COMMAND = LOCAL.setting(
                    "local.command", words("COMMAND", "a program and its arguments, separated by spaces"), "")
            .doc("Runs this command as a local worker instead of a JVM. The launch payload is in its environment"
                    + " variable LAMBDA_DISPATCHER_PAYLOAD.");
    public static final Setting<Map<String, String>> LOCAL_ENVIRONMENT = LOCAL.setting(
                    "local.environment", variables(), "")
            .doc("Additional environment variables of local workers, for example those that select an adapter.");

    private static final Topic AWS = new Topic("AWS Lambda");
    public static final Setting<String> AWS_REGION = AWS.setting(
                    "aws.region", text("REGION", "a region such as eu-central-1", 64))
            .doc("Region of the Lambda functions and of fleet.table. If it is not set, the AWS SDK finds it.");
    public static final Setting<URI> AWS_ENDPOINT = AWS.setting("aws.endpoint", uri())
            .doc(
                    "URL of the Lambda endpoint, for example of an emulator. If it is not set, the AWS SDK uses the endpoint of the region.");
    public static final Setting<Integer> AWS_MAX_INVOCATIONS = AWS.setting(
                    "aws.max-invocations", number(1, 100_000), "5000")
            .doc("Maximum number of Lambda invocations in flight that run workers, over all functions.");

    private static final Topic FLEET = new Topic("Fleet");
    public static final Setting<String> FLEET_TABLE = FLEET.setting(
                    "fleet.table", text("TABLE", "the name or ARN of a DynamoDB table", 1024))
            .doc("DynamoDB table that all dispatchers of a fleet share, in aws.region. Create it with the command fleet"
                    + " init. If it is not set, the dispatcher is alone.");
    public static final Setting<String> FLEET_NAME = FLEET.setting(
                    "fleet.name", text("NAME", "1 to 255 characters", 255), "default")
            .doc("Name of the fleet. Several fleets can use one table if their names differ.");
    public static final Setting<String> FLEET_ZONE = FLEET.setting("fleet.zone", text("ZONE", "1 to 64 characters", 64))
            .doc(
                    "Availability zone of this dispatcher, for Lambda its id, such as use1-az1. Workers in this zone get requests"
                            + " first, as long as they are not much busier than others.");
    public static final Setting<URI> FLEET_ENDPOINT = FLEET.setting("fleet.endpoint", uri())
            .doc("URL of the DynamoDB endpoint, for example of an emulator. If it is not set, the AWS SDK uses the"
                    + " endpoint of the region.");

    private static final Topic HTTP = new Topic("HTTP limits and timeouts");
    public static final Setting<Integer> HTTP_MAX_HEADER_SIZE = HTTP.setting(
                    "http.max-header-size", size(1024, 128 * 1024), "64KiB")
            .doc("Maximum size of all headers of a request. A larger request gets 431.");
    public static final Setting<Integer> HTTP_MAX_CONCURRENT_STREAMS = HTTP.setting(
                    "http.max-concurrent-streams", number(1, 1_000_000), "100")
            .doc("Maximum number of requests in flight on an HTTP/2 connection.");
    public static final Setting<Integer> HTTP_STREAM_WINDOW = HTTP.setting(
                    "http.stream-window", size(64 * 1024, 64 << 20), "256KiB")
            .doc("Maximum number of bytes of one request body that the dispatcher buffers.");
    public static final Setting<Duration> HTTP_HEADER_TIMEOUT = HTTP.setting(
                    "http.header-timeout", positiveDuration(), "10s")
            .doc("Maximum time for a TLS handshake, for all headers of a request, and for a worker's HELLO to arrive.");
    public static final Setting<Duration> HTTP_IDLE_TIMEOUT = HTTP.setting(
                    "http.idle-timeout", positiveDuration(), "5m")
            .doc("Closes a client connection after this time without a request. Also ends a request whose body is "
                    + "unfinished after the headers of the response, if no byte moves for this time.");
    public static final Setting<Duration> HTTP_MAX_CONNECTION_AGE = HTTP.setting(
                    "http.max-connection-age", duration(), "0")
            .doc(
                    "Age at which a client must open a new connection, so that clients find new dispatchers. Up to a tenth is"
                            + " added at random. Requests in flight are completed. 0 means no limit.");
    public static final Setting<Duration> HTTP_BODY_TIMEOUT = HTTP.setting(
                    "http.body-timeout", positiveDuration(), "20s")
            .doc("Maximum time without a byte of a request's body, until the headers of the response have been sent. A"
                    + " request that takes longer gets 408. For gRPC calls, http.idle-timeout applies instead.");
    public static final Setting<Duration> HTTP_WRITE_TIMEOUT = HTTP.setting(
                    "http.write-timeout", positiveDuration(), "30s")
            .doc(
                    "Maximum time in which a client reads no byte of a response that is ready to be sent. After it, the response is cut off.");
    public static final Setting<Integer> HTTP_MAX_CONNECTIONS = HTTP.setting(
                    "http.max-connections", number(1, 1_000_000), "10000")
            .doc("Maximum number of client connections. Further connections are closed when they are accepted.");
    public static final Setting<Integer> HTTP_MAX_CONNECTIONS_PER_ADDRESS = HTTP.setting(
                    "http.max-connections-per-address", number(1, 1_000_000), "5000")
            .doc("Maximum number of connections of one IPv4 address or one IPv6 /64 network. Further connections are"
                    + " closed when they are accepted.");
    public static final Setting<Integer> HTTP_CLIENT_MEMORY = HTTP.setting(
                    "http.client-memory", sizeOrAuto(16 << 20, 1 << 30), "auto")
            .doc("Maximum memory that the dispatcher uses for clients. Above 85 % of it, requests on connections that "
                    + "hold much get 503. Above 95 %, the connections that use the most memory are "
                    + "closed. auto means half of the heap or half of the direct memory, whichever is smaller.");

    public static final Setting<Integer> HTTP_CACHE_MEMORY = HTTP.setting(
                    "http.cache-memory", size(1 << 20, 1 << 30), "64MiB")
            .doc("Maximum memory of the heap for the responses that function.cache stores. All functions share it.");

    public static final Setting<ErrorFormat> HTTP_ERROR_FORMAT = HTTP.setting(
                    "http.error-format", choice(ErrorFormat.class), "text")
            .doc(
                    "Body of the dispatcher's own error responses: text = one line of text, problem-json = problem details in"
                            + " JSON (RFC 9457).");

    public static final Setting<String> HTTP_FAILURE_HEADER = HTTP.setting("http.failure-header", headerName())
            .doc("Header of the dispatcher's own error responses that names the failure, for example"
                    + " x-dispatcher-failure: queue_timeout. If it is not set, they have no such header.");

    public static final Setting<PathRule> HTTP_PATH = HTTP.setting("http.path", choice(PathRule.class))
            .doc("What happens to a path with several spellings, such as /%6Cogin, //login or /login;a: "
                    + "as-is = it is compared and passed on as it was sent; normalize = it is replaced by its "
                    + "normal form (RFC 3986 section 6.2.2, one slash instead of several); "
                    + "reject-ambiguous = it gets 400 if an application could take it for a path of another "
                    + "route, otherwise it is passed on as it was sent. normalize also rejects what is "
                    + "ambiguous in its normal form. If it is not set, reject-ambiguous applies if a function "
                    + "or a route has a path, otherwise as-is.");

    private static final Topic FORWARDING = new Topic("Forwarding headers");
    public static final Setting<ForwardingPolicy.Trust> FORWARDING_TRUST = FORWARDING
            .setting("forwarding.trust", choice(ForwardingPolicy.Trust.class), "replace")
            .doc("Proxy through which all clients connect: replace = none, or a Network Load Balancer; append = an"
                    + " Application Load Balancer. Requests keep only the forwarding headers that it writes.");
    public static final Setting<ForwardingPolicy.Headers> FORWARDING_HEADERS = FORWARDING
            .setting("forwarding.headers", choice(ForwardingPolicy.Headers.class), "x-forwarded")
            .doc("Forwarding headers that tell the handler about the client.");
    public static final Setting<List<String>> FORWARDING_TRUSTED_HEADERS = FORWARDING
            .setting("forwarding.trusted-headers", headerNames(), "")
            .doc("Further headers that the proxy always writes, such as x-forwarded-prefix. Without them, a header that"
                    + " names a client, a host or a path in place of the request itself is removed.");
    public static final Setting<Boolean> FORWARDING_VIA = FORWARDING
            .setting("forwarding.via", bool(), "false")
            .doc("Adds the via header to requests and responses. nginx, among others, does not compress its "
                    + "responses to requests with this header.");
    public static final Setting<String> FORWARDING_CLIENT_HEADER = FORWARDING
            .setting("forwarding.client-header", requestHeaderName())
            .doc("Header whose value names the client, for fairness between clients. It needs a proxy in "
                    + "forwarding.trust that sets the header. Without such a proxy, a client can evade the limits with a "
                    + "new value in each request. If it is not set, the client is identified by its address.");
    public static final Setting<String> FORWARDING_REQUEST_ID_HEADER = FORWARDING
            .setting("forwarding.request-id-header", headerName())
            .doc("Header that identifies a request, for example x-request-id. Requests without it get a random id of 32"
                    + " hexadecimal digits, and error responses of the dispatcher repeat the id. If the header is not set,"
                    + " requests get no id.");

    private static final Topic OBSERVING = new Topic("Admin port and logs");
    public static final Setting<String> ADMIN_HOST =
            OBSERVING.setting("admin.host", HOST, "127.0.0.1").doc("Address that the admin port listens on.");
    public static final Setting<OptionalInt> ADMIN_PORT = OBSERVING
            .setting("admin.port", portOrOff(), "9901")
            .doc(
                    "Port for the live page, its JSON, /health, /ready, /started, /metrics, and /launching, which pauses and resumes"
                            + " launching.");
    public static final Setting<Set<String>> ADMIN_HOSTS = OBSERVING
            .setting("admin.hosts", hostNames(), "")
            .doc(
                    "Host names that requests to the admin port may use. IP addresses and localhost are always allowed. /health,"
                            + " /ready and /started allow every name.");
    public static final Setting<List<byte[]>> ADMIN_TOKEN = OBSERVING
            .setting("admin.token", ValueType.secrets())
            .doc("Token that a request must carry to change something: Authorization: Bearer TOKEN. If neither this nor"
                    + " admin.token-file is set, nothing can be changed through the admin port.");
    public static final Setting<List<byte[]>> ADMIN_TOKEN_FILE = OBSERVING
            .setting("admin.token-file", ValueType.secretsFile())
            .doc("File that holds one token in each line, instead of admin.token. All are accepted, so that each person"
                    + " or program can have its own, and a token can be replaced.");
    public static final Setting<List<byte[]>> ADMIN_READ_TOKEN_FILE = OBSERVING
            .setting("admin.read-token-file", ValueType.secretsFile())
            .doc(
                    "File that holds one token in each line. A request must carry one of these, or one of admin.token-file, to"
                            + " read anything but /health, /ready and /started. These tokens change nothing. If it is not set,"
                            + " everybody who reaches the port may read.");
    public static final Setting<Path> ADMIN_TLS_CERTIFICATE = OBSERVING
            .setting("admin.tls.certificate", file())
            .doc("PEM file with the certificate chain of the admin port. Setting it turns on TLS.");
    public static final Setting<Path> ADMIN_TLS_KEY = OBSERVING
            .setting("admin.tls.key", file())
            .doc("PEM file with the private key of the admin port: PKCS #8, PKCS #1 or SEC 1, unencrypted.");
    public static final Setting<Level> LOG_LEVEL = OBSERVING
            .setting("log.level", choice(Level.class), "info")
            .doc("Level of the dispatcher's own log, which goes to standard error.");
    public static final Setting<LogFormat> LOG_FORMAT = OBSERVING
            .setting("log.format", choice(LogFormat.class), "text")
            .doc("Form of the dispatcher's own log: text = lines for people, json = one JSON object in each line.");
    public static final Setting<Boolean> ACCESS_LOG_ENABLED = OBSERVING
            .setting("access-log.enabled", bool(), "false")
            .doc("Writes an access log with one line of JSON for each request.");
    public static final Setting<Path> ACCESS_LOG_FILE = OBSERVING
            .setting("access-log.file", path())
            .doc("File to which the access log is appended. If it is not set, the access log goes to standard output.");
    public static final Setting<List<AccessField>> ACCESS_LOG_FIELDS = OBSERVING
            .setting("access-log.fields", choices("FIELD...", AccessField.class), allOf(AccessField.class))
            .doc("Fields of a line of the access log, in their order.");

    private static final Topic TRACING = new Topic("Tracing");
    public static final Setting<URI> TRACING_ENDPOINT = TRACING.setting("tracing.endpoint", uri())
            .doc(
                    "URL of the collector that receives traces by OTLP, for example http://collector:4317. If it is not set,"
                            + " the dispatcher traces nothing. With tracing.protocol: http, the dispatcher appends /v1/traces.");
    public static final Setting<TracingProtocol> TRACING_PROTOCOL = TRACING.setting(
                    "tracing.protocol", choice(TracingProtocol.class), "grpc")
            .doc("Protocol of the collector: grpc, usually on port 4317, or http, usually on port 4318.");
    public static final Setting<Double> TRACING_RATIO = TRACING.setting("tracing.ratio", ratio(), "0.01")
            .doc(
                    "Part of the requests that is traced: 0 = none, 1 = all. Behind a proxy in forwarding.trust, the traceparent"
                            + " header of a request decides if there is one.");

    private static final Topic PROCESS = new Topic("Sockets, threads and shutdown");
    public static final Setting<TransportKind> TRANSPORT = PROCESS.setting(
                    "transport", choice(TransportKind.class, "_"), "auto")
            .doc("Netty transport for all sockets. auto means epoll if it loads, otherwise nio.");
    public static final Setting<Integer> EVENT_LOOPS = PROCESS.setting("event-loops", numberOrAuto(1, 1024), "auto")
            .doc("Number of event loops, which are the threads that serve sockets. auto means one for each processor.");
    public static final Setting<Path> STATE_FILE = PROCESS.setting("state.file", path())
            .doc(
                    "File that keeps the launch rate, the spending, the kill switch, and the version of each function across"
                            + " restarts. Each dispatcher needs its own file. If it is not set, a restart resets them.");
    public static final Setting<Duration> SHUTDOWN_DELAY = PROCESS.setting("shutdown.delay", duration(), "10s")
            .doc(
                    "Time after SIGTERM in which the dispatcher keeps serving while /ready answers 503, so that load balancers notice."
                            + " Ctrl-C (SIGINT) skips it.");
    public static final Setting<Duration> SHUTDOWN_GRACE = PROCESS.setting("shutdown.grace", duration(), "15s")
            .doc(
                    "Maximum time after shutdown.delay in which requests in flight can finish. Then they get 503 or are cut off.");

    /** Limits whose counts a route shares with its function if it sets none of them. */
    static final List<Setting<?>> LIMITS = List.of(
            FUNCTION_RATE_LIMIT,
            FUNCTION_RATE_LIMIT_BURST,
            FUNCTION_RATE_LIMIT_KEY,
            FUNCTION_MAX_REQUESTS,
            FUNCTION_TENANT_HEADER,
            FUNCTION_MAX_TENANT_REQUESTS);

    /** Settings of a function that each of its routes can have, too. */
    static final List<Setting<?>> OF_ROUTES = List.of(
            FUNCTION_AFFINITY,
            FUNCTION_PATH,
            FUNCTION_HOST,
            FUNCTION_HEADER,
            FUNCTION_DEADLINE,
            FUNCTION_DEADLINE_HEADERS,
            FUNCTION_MAX_ATTEMPTS,
            FUNCTION_RETRY_ON,
            FUNCTION_ATTEMPT_TIMEOUT,
            FUNCTION_HEDGE_AFTER,
            FUNCTION_RATE_LIMIT,
            FUNCTION_RATE_LIMIT_BURST,
            FUNCTION_RATE_LIMIT_KEY,
            FUNCTION_MAX_REQUESTS,
            FUNCTION_TENANT_HEADER,
            FUNCTION_MAX_TENANT_REQUESTS,
            FUNCTION_PRIORITY,
            FUNCTION_PRIORITY_HEADER,
            FUNCTION_SHED_DELAY,
            FUNCTION_SHADOW,
            FUNCTION_SHADOW_SHARE,
            FUNCTION_SHADOW_METHODS,
            FUNCTION_COMPRESSION,
            FUNCTION_COMPRESSION_TYPES,
            FUNCTION_COMPRESSION_MIN_SIZE,
            FUNCTION_BREAKER_ERRORS,
            FUNCTION_BREAKER_LATENCY,
            FUNCTION_BREAKER_OPEN,
            FUNCTION_CACHE,
            FUNCTION_CACHE_STALE_IF_ERROR,
            FUNCTION_CACHE_MAX_BODY);

    static final Map<String, Setting<?>> BY_NAME = by(Setting::name);
    static final Map<String, Setting<?>> BY_VARIABLE = by(Setting::variable);
    static final Map<String, Setting<?>> BY_FLAG = by(Setting::flag);

    private Settings() {}

    /** Settings that belong together. Declaring one adds it to its topic, and so to the table. */
    public static final class Topic {
        private final String title;
        private final List<Setting<?>> settings = new ArrayList<>();

        private Topic(String title) {
            this.title = title;
            TOPICS.add(this);
        }

        private <T> Declaration<T> setting(String name, ValueType<T> type) {
            return setting(name, type, null);
        }

        private <T> Declaration<T> setting(String name, ValueType<T> type, @Nullable String defaultText) {
            return doc -> {
                Setting<T> setting = new Setting<>(name, type, defaultText, doc);
                settings.add(setting);
                return setting;
            };
        }

        public String title() {
            return title;
        }

        public List<Setting<?>> settings() {
            return Collections.unmodifiableList(settings);
        }
    }

    /** All of a setting except its documentation. */
    @FunctionalInterface
    private interface Declaration<T> {
        Setting<T> doc(String doc);
    }

    public static List<Topic> topics() {
        return Collections.unmodifiableList(TOPICS);
    }

    /** @throws IllegalStateException if two settings share a key */
    private static Map<String, Setting<?>> by(Function<Setting<?>, String> key) {
        Map<String, Setting<?>> settings = new LinkedHashMap<>();
        TOPICS.stream().flatMap(topic -> topic.settings.stream()).forEach(setting -> {
            if (settings.putIfAbsent(key.apply(setting), setting) != null) {
                throw new IllegalStateException("two settings: " + key.apply(setting));
            }
        });
        return Collections.unmodifiableMap(settings);
    }
}
