package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.Setting.of;
import static io.lambdadispatcher.server.config.Setting.optional;
import static io.lambdadispatcher.server.config.Setting.secret;
import static io.lambdadispatcher.server.config.ValueType.addresses;
import static io.lambdadispatcher.server.config.ValueType.bool;
import static io.lambdadispatcher.server.config.ValueType.choice;
import static io.lambdadispatcher.server.config.ValueType.className;
import static io.lambdadispatcher.server.config.ValueType.duration;
import static io.lambdadispatcher.server.config.ValueType.header;
import static io.lambdadispatcher.server.config.ValueType.host;
import static io.lambdadispatcher.server.config.ValueType.number;
import static io.lambdadispatcher.server.config.ValueType.numberOrAuto;
import static io.lambdadispatcher.server.config.ValueType.path;
import static io.lambdadispatcher.server.config.ValueType.pathPrefix;
import static io.lambdadispatcher.server.config.ValueType.port;
import static io.lambdadispatcher.server.config.ValueType.size;
import static io.lambdadispatcher.server.config.ValueType.text;
import static io.lambdadispatcher.server.config.ValueType.uri;
import static io.lambdadispatcher.server.config.ValueType.variables;
import static io.lambdadispatcher.server.config.ValueType.words;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.wire.event.EventFormat;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The table of settings. Parsing, {@code --help}, {@code check-config} and docs/CONFIGURATION.md all come from it.
 */
public final class Settings {
    private static final ValueType<String> HOST = text("a host name or an IP address", 255);

    public static final Setting<String> PUBLIC_PLAIN_HOST =
            of("public.plain.host", HOST, "0.0.0.0", "address of the plain public port");
    public static final Setting<OptionalInt> PUBLIC_PLAIN_PORT =
            of("public.plain.port", port(), "8080", "where clients come without TLS: HTTP/1.1 and h2c");
    public static final Setting<String> PUBLIC_TLS_HOST =
            of("public.tls.host", HOST, "0.0.0.0", "address of the TLS public port");
    public static final Setting<OptionalInt> PUBLIC_TLS_PORT = of(
            "public.tls.port",
            port(),
            "8443",
            "where clients come with TLS: h2 and HTTP/1.1; opened when public.tls.certificate is set");
    public static final Setting<Path> PUBLIC_TLS_CERTIFICATE =
            optional("public.tls.certificate", path(), "PEM file: the certificate chain, own certificate first");
    public static final Setting<Path> PUBLIC_TLS_KEY =
            optional("public.tls.key", path(), "PEM file: the private key, PKCS #8, not encrypted");
    public static final Setting<Path> PUBLIC_TLS_CLIENT_CERTIFICATES = optional(
            "public.tls.client-certificates",
            path(),
            "PEM file of authorities; clients must then show a certificate of one of them");

    public static final Setting<String> WORKERS_HOST =
            of("workers.host", HOST, "0.0.0.0", "address of the worker port");
    public static final Setting<Integer> WORKERS_PORT =
            of("workers.port", number(0, 65535), "8444", "where workers dial in; 0 for any free port");
    public static final Setting<Path> WORKERS_TLS_CERTIFICATE = optional(
            "workers.tls.certificate", path(), "PEM file: certificate chain of the worker port, which speaks TLS then");
    public static final Setting<Path> WORKERS_TLS_KEY =
            optional("workers.tls.key", path(), "PEM file: private key of the worker port, PKCS #8, not encrypted");
    public static final Setting<Path> WORKERS_TLS_CLIENT_CERTIFICATES = optional(
            "workers.tls.client-certificates",
            path(),
            "PEM file of authorities; workers must then show a certificate of one of them");
    public static final Setting<String> WORKERS_SECRET = secret(
            "workers.secret",
            text("at least 16 octets that nobody can guess", 4096),
            "signs launch tokens; needed when workers come by themselves");
    public static final Setting<Path> WORKERS_SECRET_FILE =
            optional("workers.secret-file", path(), "a file whose content, without a line end, is workers.secret");
    public static final Setting<List<InetSocketAddress>> WORKERS_DIAL_BACK = of(
            "workers.dial-back",
            addresses(),
            "",
            "where launched workers dial, port 0 = the worker port; by default loopback for local ones and an address found for lambda ones");
    public static final Setting<Duration> WORKERS_PING_INTERVAL =
            of("workers.ping-interval", duration(), "2s", "a worker connection silent for so long is probed");
    public static final Setting<Duration> WORKERS_PING_TIMEOUT =
            of("workers.ping-timeout", duration(), "3s", "and given up when it stays silent for so long after that");

    public static final Setting<String> FUNCTION_NAME =
            of("function.name", text("1 to 256 characters", 256), "default", "name of the function");
    public static final Setting<String> FUNCTION_PATH = of(
            "function.path",
            pathPrefix(),
            "/",
            "requests whose path starts with it, whole segments, are for this function; the longest wins");
    public static final Setting<String> FUNCTION_HOST = optional(
            "function.host",
            host(),
            "and whose host is this one, or below the rest where it starts with *.; wins over functions for any host");
    public static final Setting<Route.Header> FUNCTION_HEADER = optional(
            "function.header",
            header(),
            "and which have this header, with this value if one is given; wins over functions of the same host without");
    public static final Setting<Integer> FUNCTION_WEIGHT = of(
            "function.weight",
            number(1, 10_000),
            "100",
            "share of the requests among functions of equal host, header and path; set for all of them or for none");
    public static final Setting<Mode> FUNCTION_MODE = of(
            "function.mode",
            choice(Mode.class),
            "dispatch",
            "dispatch: workers serve; direct: each request is one Lambda invocation, see DIRECT.md");
    public static final Setting<EventFormat> FUNCTION_EVENT_SHAPE = of(
            "function.event-shape",
            choice(EventFormat.class),
            "http-api-v2",
            "direct requests: as whose event the function sees them, and whose limits they have");
    public static final Setting<Boolean> FUNCTION_DIRECT_OVERFLOW = of(
            "function.direct-overflow",
            bool(),
            "false",
            "in the mode dispatch: an idempotent request that waits too long for a worker goes directly");
    public static final Setting<Duration> FUNCTION_DIRECT_OVERFLOW_AFTER = of(
            "function.direct-overflow-after",
            duration(),
            "1s",
            "when that is; at least 10ms, less than pending-timeout");
    public static final Setting<String> FUNCTION_DIRECT_LAMBDA = optional(
            "function.direct-lambda",
            text("the name or ARN of a Lambda function, with or without :alias or :version", 170),
            "invoked by direct requests; by default function.lambda, which must then take events and, for workers, launches");
    public static final Setting<Integer> FUNCTION_DIRECT_LIMIT = of(
            "function.direct-limit",
            number(1, 100_000),
            "1000",
            "direct requests at once, bodies that still arrive included; more get 503");
    public static final Setting<LauncherKind> FUNCTION_LAUNCHER = of(
            "function.launcher",
            choice(LauncherKind.class),
            "self",
            "self: workers are started by somebody else; local: as processes on this machine; lambda: on AWS Lambda");
    public static final Setting<String> FUNCTION_LAMBDA = optional(
            "function.lambda",
            text("the name or ARN of a Lambda function, with or without :alias or :version", 170),
            "launcher lambda: the function to invoke; by default it is called as function.name says");
    public static final Setting<Integer> FUNCTION_MIN_WORKERS =
            of("function.min-workers", number(0, 100_000), "0", "launched workers that are kept always");
    public static final Setting<Integer> FUNCTION_MAX_WORKERS =
            of("function.max-workers", number(0, 100_000), "0", "launched workers, the most; 0 with the launcher self");
    public static final Setting<Integer> FUNCTION_WARM_WORKERS = of(
            "function.warm-workers",
            number(0, 100_000),
            "0",
            "workers kept beyond what the traffic needs, as long as there is any");
    public static final Setting<Integer> FUNCTION_HEAD_ROOM = of(
            "function.head-room",
            number(0, 1000),
            "25",
            "percent of what the traffic needs now that is kept free for the next moment's");
    public static final Setting<Duration> FUNCTION_IDLE_AFTER = of(
            "function.idle-after",
            duration(),
            "5m",
            "without a request for so long, only function.min-workers are kept");
    public static final Setting<Duration> FUNCTION_SCALE_IN_AFTER = of(
            "function.scale-in-after",
            duration(),
            "1m",
            "a worker is given up when there has been one too many for so long");
    public static final Setting<Integer> FUNCTION_WARM_ENVIRONMENTS = of(
            "function.warm-environments",
            number(0, 1000),
            "0",
            "Lambda environments kept initialised beyond the workers, by init-only invokes every 4 minutes");
    public static final Setting<Duration> FUNCTION_MAX_WORKER_LIFE = of(
            "function.max-worker-life",
            duration(),
            "0",
            "a worker is replaced before it is older; 0 = as old as its launcher lets it become");
    public static final Setting<Integer> FUNCTION_LAUNCHES_PER_MINUTE = of(
            "function.launches-per-minute",
            number(1, 1_000_000),
            "300",
            "launches in any 60 seconds, failed ones included, the most");
    public static final Setting<Integer> FUNCTION_SPENDING_LIMIT = of(
            "function.spending-limit",
            number(0, 2_000_000_000),
            "0",
            "GB-seconds of workers in any hour, the most; 0 = no limit. Workers are given up as it comes near");
    public static final Setting<Integer> FUNCTION_WORKER_MEMORY =
            of("function.worker-memory", number(1, 1_000_000), "512", "megabytes of one worker, for that arithmetic");
    public static final Setting<Duration> FUNCTION_NO_SHOW_AFTER = of(
            "function.no-show-after",
            duration(),
            "30s",
            "a launched worker that has not dialled in for so long has failed");
    public static final Setting<Integer> FUNCTION_CONNECTIONS =
            of("function.connections", number(1, 64), "1", "worker connections that each launched worker opens");
    public static final Setting<Integer> FUNCTION_STREAMS = of(
            "function.streams",
            number(1, 1000),
            "100",
            "worker streams on each; times the connections it is a worker's concurrency");
    public static final Setting<Integer> FUNCTION_PENDING_LIMIT = of(
            "function.pending-limit",
            number(0, 10_000_000),
            "10000",
            "requests that may wait for a worker stream; more get 503");
    public static final Setting<Duration> FUNCTION_PENDING_TIMEOUT =
            of("function.pending-timeout", duration(), "10s", "how long one may wait; then it gets 503");
    public static final Setting<Duration> FUNCTION_REQUEST_TIMEOUT =
            of("function.request-timeout", duration(), "15m", "until the end of the response, else 504; 0 = no limit");
    public static final Setting<String> FUNCTION_HANDLER =
            optional("function.handler", className(), "local workers: the handler class, on the class path");

    public static final Setting<Path> LOCAL_JAVA =
            optional("local.java", path(), "local workers: the java program; by default the dispatcher's own");
    public static final Setting<List<String>> LOCAL_JVM_FLAGS = of(
            "local.jvm-flags", words("flags, separated by spaces"), "-Xmx256m", "local workers: flags of their JVMs");
    public static final Setting<String> LOCAL_CLASS_PATH =
            optional("local.class-path", text("a class path", 1 << 20), "local workers: class path put before the own");
    public static final Setting<List<String>> LOCAL_COMMAND = of(
            "local.command",
            words("a program and its arguments, separated by spaces"),
            "",
            "local workers: runs this instead of a JVM; the launch payload is in LAMBDA_DISPATCHER_PAYLOAD");
    public static final Setting<Map<String, String>> LOCAL_ENVIRONMENT = of(
            "local.environment",
            variables(),
            "",
            "local workers: variables they get as well, an adapter's for example");

    public static final Setting<String> AWS_REGION = optional(
            "aws.region",
            text("a region such as eu-central-1", 64),
            "of the Lambda functions; by default as the AWS SDK finds it");
    public static final Setting<URI> AWS_ENDPOINT =
            optional("aws.endpoint", uri(), "where Lambda is called instead of AWS's own address, e.g. an emulator's");
    public static final Setting<Integer> AWS_MAX_INVOKES =
            of("aws.max-invokes", number(1, 100_000), "5000", "invokes held open at once, over all functions");

    public static final Setting<String> ADMIN_HOST = of("admin.host", HOST, "127.0.0.1", "address of the admin port");
    public static final Setting<OptionalInt> ADMIN_PORT =
            of("admin.port", port(), "9901", "/health, /ready, /metrics and /launching, the kill switch");

    public static final Setting<LogLevel> LOG_LEVEL =
            of("log.level", choice(LogLevel.class), "info", "of the dispatcher's own log, on standard error");
    public static final Setting<Boolean> ACCESS_LOG_ENABLED =
            of("access-log.enabled", bool(), "false", "one JSON line for each request");
    public static final Setting<Path> ACCESS_LOG_FILE =
            optional("access-log.file", path(), "appended to; by default standard output");
    public static final Setting<Integer> ACCESS_LOG_QUEUE = of(
            "access-log.queue",
            number(64, 1 << 20),
            "16384",
            "lines that may wait for the writer; more are dropped and counted");

    public static final Setting<TransportKind> TRANSPORT =
            of("transport", choice(TransportKind.class), "auto", "how sockets are served; auto = epoll where it loads");
    public static final Setting<Integer> EVENT_LOOPS = of(
            "event-loops", numberOrAuto(1, 1024), "auto", "threads that serve sockets; auto = one for each processor");
    public static final Setting<Duration> SHUTDOWN_DELAY = of(
            "shutdown.delay",
            duration(),
            "0",
            "after SIGTERM, how long to go on serving while /ready already says no, for load balancers");
    public static final Setting<Duration> SHUTDOWN_GRACE =
            of("shutdown.grace", duration(), "25s", "then, how long requests under way may take to finish");

    public static final Setting<Integer> HTTP_MAX_HEAD_SIZE =
            of("http.max-head-size", size(1024, 256 * 1024), "64KiB", "of a request head; larger gets 431");
    public static final Setting<Integer> HTTP_MAX_HEAD_FIELDS =
            of("http.max-head-fields", number(8, 10_000), "200", "fields in a request head; more get 431");
    public static final Setting<Integer> HTTP_MAX_REQUEST_LINE =
            of("http.max-request-line", size(256, 256 * 1024), "16KiB", "HTTP/1.1 request line; longer gets 414");
    public static final Setting<Integer> HTTP_MAX_CONCURRENT_STREAMS =
            of("http.max-concurrent-streams", number(1, 1_000_000), "1000", "requests at once on an HTTP/2 connection");
    public static final Setting<Integer> HTTP_STREAM_WINDOW = of(
            "http.stream-window",
            size(64 * 1024, 64 << 20),
            "256KiB",
            "the most of one request body that waits in the dispatcher");
    public static final Setting<Integer> HTTP_CONNECTION_WINDOW =
            of("http.connection-window", size(64 * 1024, 512 << 20), "1MiB", "the same for a whole connection");
    public static final Setting<Duration> HTTP_HEAD_TIMEOUT = of(
            "http.head-timeout",
            duration(),
            "10s",
            "for TLS, for a whole request head, and on the worker port for HELLO, to arrive");
    public static final Setting<Duration> HTTP_IDLE_TIMEOUT =
            of("http.idle-timeout", duration(), "5m", "a client connection without a request is closed after it");
    public static final Setting<Duration> HTTP_WRITE_TIMEOUT = of(
            "http.write-timeout",
            duration(),
            "2m",
            "a client connection that takes no octet of a waiting response for so long is cut");
    public static final Setting<Integer> HTTP_MAX_RESETS = of(
            "http.max-resets", number(1, 1_000_000), "400", "RST_STREAM frames in 30 s before a connection is closed");

    public static final Setting<ForwardingPolicy.Trust> FORWARDING_TRUST = of(
            "forwarding.trust",
            choice(ForwardingPolicy.Trust.class),
            "replace",
            "forwarding fields that came with the request: removed, or added to (a trusted proxy is in front)");
    public static final Setting<ForwardingPolicy.Fields> FORWARDING_FIELDS = of(
            "forwarding.fields",
            choice(ForwardingPolicy.Fields.class),
            "x-forwarded",
            "which forwarding fields tell the handler about the client");
    public static final Setting<Boolean> FORWARDING_VIA =
            of("forwarding.via", bool(), "true", "add via to requests and responses");

    /** In the order of --help and of the docs. */
    public static final List<Setting<?>> ALL = List.of(
            PUBLIC_PLAIN_HOST,
            PUBLIC_PLAIN_PORT,
            PUBLIC_TLS_HOST,
            PUBLIC_TLS_PORT,
            PUBLIC_TLS_CERTIFICATE,
            PUBLIC_TLS_KEY,
            PUBLIC_TLS_CLIENT_CERTIFICATES,
            WORKERS_HOST,
            WORKERS_PORT,
            WORKERS_TLS_CERTIFICATE,
            WORKERS_TLS_KEY,
            WORKERS_TLS_CLIENT_CERTIFICATES,
            WORKERS_SECRET,
            WORKERS_SECRET_FILE,
            WORKERS_DIAL_BACK,
            WORKERS_PING_INTERVAL,
            WORKERS_PING_TIMEOUT,
            FUNCTION_NAME,
            FUNCTION_PATH,
            FUNCTION_HOST,
            FUNCTION_HEADER,
            FUNCTION_WEIGHT,
            FUNCTION_MODE,
            FUNCTION_EVENT_SHAPE,
            FUNCTION_DIRECT_OVERFLOW,
            FUNCTION_DIRECT_OVERFLOW_AFTER,
            FUNCTION_DIRECT_LAMBDA,
            FUNCTION_DIRECT_LIMIT,
            FUNCTION_LAUNCHER,
            FUNCTION_LAMBDA,
            FUNCTION_MIN_WORKERS,
            FUNCTION_MAX_WORKERS,
            FUNCTION_WARM_WORKERS,
            FUNCTION_HEAD_ROOM,
            FUNCTION_IDLE_AFTER,
            FUNCTION_SCALE_IN_AFTER,
            FUNCTION_WARM_ENVIRONMENTS,
            FUNCTION_MAX_WORKER_LIFE,
            FUNCTION_LAUNCHES_PER_MINUTE,
            FUNCTION_SPENDING_LIMIT,
            FUNCTION_WORKER_MEMORY,
            FUNCTION_NO_SHOW_AFTER,
            FUNCTION_CONNECTIONS,
            FUNCTION_STREAMS,
            FUNCTION_PENDING_LIMIT,
            FUNCTION_PENDING_TIMEOUT,
            FUNCTION_REQUEST_TIMEOUT,
            FUNCTION_HANDLER,
            LOCAL_JAVA,
            LOCAL_JVM_FLAGS,
            LOCAL_CLASS_PATH,
            LOCAL_COMMAND,
            LOCAL_ENVIRONMENT,
            AWS_REGION,
            AWS_ENDPOINT,
            AWS_MAX_INVOKES,
            ADMIN_HOST,
            ADMIN_PORT,
            LOG_LEVEL,
            ACCESS_LOG_ENABLED,
            ACCESS_LOG_FILE,
            ACCESS_LOG_QUEUE,
            TRANSPORT,
            EVENT_LOOPS,
            SHUTDOWN_DELAY,
            SHUTDOWN_GRACE,
            HTTP_MAX_HEAD_SIZE,
            HTTP_MAX_HEAD_FIELDS,
            HTTP_MAX_REQUEST_LINE,
            HTTP_MAX_CONCURRENT_STREAMS,
            HTTP_STREAM_WINDOW,
            HTTP_CONNECTION_WINDOW,
            HTTP_HEAD_TIMEOUT,
            HTTP_IDLE_TIMEOUT,
            HTTP_WRITE_TIMEOUT,
            HTTP_MAX_RESETS,
            FORWARDING_TRUST,
            FORWARDING_FIELDS,
            FORWARDING_VIA);

    /** Those of one function; also the keys of an entry of {@code functions} in the file. */
    static final List<Setting<?>> FUNCTION = ALL.stream()
            .filter(setting -> setting.name().startsWith("function."))
            .toList();

    static final Map<String, Setting<?>> BY_NAME = by(Setting::name);
    static final Map<String, Setting<?>> BY_VARIABLE = by(Setting::variable);
    static final Map<String, Setting<?>> BY_FLAG = by(Setting::flag);

    private Settings() {}

    /** Fails when two settings share a name, a variable or a flag. */
    private static Map<String, Setting<?>> by(Function<Setting<?>, String> key) {
        return ALL.stream().collect(Collectors.toUnmodifiableMap(key, Function.identity()));
    }

    static Stream<String> groups() {
        return ALL.stream()
                .map(Setting::name)
                .filter(name -> name.indexOf('.') > 0)
                .map(name -> name.substring(0, name.lastIndexOf('.')))
                .distinct();
    }
}
