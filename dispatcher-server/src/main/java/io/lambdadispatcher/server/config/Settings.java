package io.lambdadispatcher.server.config;

import static io.lambdadispatcher.server.config.HttpValueTypes.headerName;
import static io.lambdadispatcher.server.config.HttpValueTypes.headerNames;
import static io.lambdadispatcher.server.config.HttpValueTypes.hostNames;
import static io.lambdadispatcher.server.config.HttpValueTypes.requestHeaderName;
import static io.lambdadispatcher.server.config.ValueType.addresses;
import static io.lambdadispatcher.server.config.ValueType.allOf;
import static io.lambdadispatcher.server.config.ValueType.choice;
import static io.lambdadispatcher.server.config.ValueType.choices;
import static io.lambdadispatcher.server.config.ValueType.directory;
import static io.lambdadispatcher.server.config.ValueType.duration;
import static io.lambdadispatcher.server.config.ValueType.durationOrOff;
import static io.lambdadispatcher.server.config.ValueType.file;
import static io.lambdadispatcher.server.config.ValueType.number;
import static io.lambdadispatcher.server.config.ValueType.numberOrAuto;
import static io.lambdadispatcher.server.config.ValueType.path;
import static io.lambdadispatcher.server.config.ValueType.positiveDuration;
import static io.lambdadispatcher.server.config.ValueType.ratio;
import static io.lambdadispatcher.server.config.ValueType.size;
import static io.lambdadispatcher.server.config.ValueType.sizeOrAuto;
import static io.lambdadispatcher.server.config.ValueType.text;
import static io.lambdadispatcher.server.config.ValueType.uri;
import static io.lambdadispatcher.server.config.ValueType.variables;
import static io.lambdadispatcher.server.config.ValueType.words;

import io.lambdadispatcher.accesslog.AccessField;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.TlsProfile;
import io.lambdadispatcher.server.config.PolicyValueTypes.ForwardingHeaders;
import io.lambdadispatcher.server.config.PolicyValueTypes.KeepAlive;
import io.lambdadispatcher.server.config.PolicyValueTypes.MaxConnections;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.event.Level;

/**
 * The table of all settings, by topic; those of functions are in {@link FunctionSettings}. Parsing,
 * {@code --help-all}, {@code config check} and docs/reference/configuration.md all come from it, in
 * the order of the declarations.
 */
public final class Settings {
    private static final ValueType<ListenAddress> LISTEN_PUBLIC =
            ValueType.listenProxied().orOff(ListenAddress.OFF);

    private static final SettingTopic PUBLIC = new SettingTopic("Public ports");
    public static final Setting<ListenAddress> PUBLIC_PLAIN_PORT = PUBLIC.setting(
                    "public.plain.port", LISTEN_PUBLIC, "8080")
            .doc(
                    "Port for clients without TLS: HTTP/1.1 and h2c. proxy-protocol requires a PROXY header, version 1 or 2, at"
                            + " the beginning of each connection. It names the client's address. Only the load balancer that sends it"
                            + " may reach the port.");
    public static final Setting<ListenAddress> PUBLIC_TLS_PORT = PUBLIC.setting(
                    "public.tls.port", LISTEN_PUBLIC, "8443")
            .doc("Port for clients with TLS: HTTP/1.1 and h2. It opens if public.tls.certificate is set. With"
                    + " proxy-protocol, the PROXY header comes before TLS.");
    public static final Setting<Path> PUBLIC_TLS_CERTIFICATE = PUBLIC.setting("public.tls.certificate", file())
            .reloads()
            .doc("PEM file with the certificate chain of the TLS port. The port's own certificate comes first.");
    public static final Setting<Path> PUBLIC_TLS_KEY = PUBLIC.setting("public.tls.key", file())
            .reloads()
            .doc("PEM file with the private key of the TLS port: PKCS #8, PKCS #1 or SEC 1, unencrypted.");
    public static final Setting<TlsProfile> PUBLIC_TLS_PROFILE = PUBLIC.setting(
                    "public.tls.profile", choice(TlsProfile.class), "intermediate")
            .reloads()
            .doc(
                    "Versions and cipher suites of the TLS port: intermediate = TLS 1.3 and 1.2 with forward secrecy, modern ="
                            + " TLS 1.3 only.");
    public static final Setting<Path> PUBLIC_TLS_CLIENT_CERTIFICATES = PUBLIC.setting(
                    "public.tls.client-certificates", file())
            .reloads()
            .doc(
                    "PEM file with certificate authorities. Clients must present a certificate that one of them issued, and that is"
                            + " not in a revocation list (CRL) of the file.");

    public static final Setting<String> PUBLIC_HEALTH_CHECK = PUBLIC.setting(
                    "public.health-check", HttpValueTypes.healthCheck())
            .doc("Path of a load balancer's health checks on the public ports, and optionally the beginning of its user"
                    + " agent. The dispatcher answers them like /ready. If it is not set, they reach a function, and keep"
                    + " its workers alive.");

    private static final SettingTopic WORKERS = new SettingTopic("Worker port");
    public static final Setting<ListenAddress> WORKERS_PORT =
            WORKERS.setting("workers.port", ValueType.listen(null), "8444").doc("Port that workers connect to.");
    public static final Setting<Path> WORKERS_TLS_CERTIFICATE = WORKERS.setting(
                    "workers.tls.certificate", ValueType.fileOrOff())
            .reloads()
            .doc("PEM file with the certificate chain of the worker port, or off for no TLS. If it is not set, the port"
                    + " has TLS with a key that follows from workers.secret, which workers accept without a file.");
    public static final Setting<Path> WORKERS_TLS_KEY = WORKERS.setting("workers.tls.key", file())
            .reloads()
            .doc("PEM file with the private key of the worker port: PKCS #8, PKCS #1 or SEC 1, unencrypted.");
    public static final Setting<Path> WORKERS_TLS_CLIENT_CERTIFICATES = WORKERS.setting(
                    "workers.tls.client-certificates", file())
            .reloads()
            .doc("PEM file with certificate authorities. Workers must present a certificate that one of them issued.");
    public static final Setting<List<byte[]>> WORKERS_SECRET = WORKERS.setting("workers.secret", ValueType.secrets())
            .reloads()
            .doc("Secret from which the key of each function is derived. The key signs launch tokens. External"
                    + " workers need the secret, or their function's key. The key of the worker port follows from it, so"
                    + " the secret must be random. The first line of a file is the secret. Launch tokens of those in further"
                    + " lines are accepted, too, so that the secret can be replaced.");
    public static final Setting<List<InetSocketAddress>> WORKERS_ADVERTISED_ADDRESSES = WORKERS.setting(
                    "workers.advertised-addresses", addresses(), "")
            .doc("Addresses of the dispatcher that launched workers connect to; port 0 means the worker port. If it is "
                    + "not set, local workers connect to loopback, and workers on Lambda to an address that the dispatcher "
                    + "detects.");
    public static final Setting<KeepAlive> WORKERS_KEEPALIVE = WORKERS.setting(
                    "workers.keepalive", PolicyValueTypes.keepAlive(), "2s timeout 3s")
            .doc(
                    "Pings a worker connection after this time without traffic. timeout = time without an answer after which"
                            + " the connection is closed, by default 3s.");

    private static final SettingTopic LOCAL = new SettingTopic("Local workers");
    public static final Setting<Path> LOCAL_JAVA = LOCAL.setting("local.java", path())
            .reloads()
            .doc(
                    "Java program that runs local workers. If it is not set, the Java program of the dispatcher runs them.");
    public static final Setting<List<String>> LOCAL_JVM_FLAGS = LOCAL.setting(
                    "local.jvm-flags", words("FLAGS", "JVM flags, separated by spaces"), "-Xmx256m")
            .reloads()
            .doc("JVM flags of local workers.");
    public static final Setting<String> LOCAL_CLASS_PATH = LOCAL.setting(
                    "local.class-path", text("PATHS", "a class path", 1 << 20))
            .reloads()
            .doc("Class path of local workers. It comes before the class path of the dispatcher.");
    public static final Setting<List<String>> LOCAL_COMMAND = LOCAL.setting(
                    "local.command", words("COMMAND", "a program and its arguments, separated by spaces"), "")
            .reloads()
            .doc("Runs this command as a local worker instead of a JVM. The launch payload is in its environment"
                    + " variable LAMBDA_DISPATCHER_PAYLOAD.");
    public static final Setting<Map<String, String>> LOCAL_ENVIRONMENT = LOCAL.setting(
                    "local.environment", variables(), "")
            .reloads()
            .doc("Additional environment variables of local workers, for example those that select an adapter.");

    private static final SettingTopic AWS = new SettingTopic("AWS Lambda");
    public static final Setting<String> AWS_REGION = AWS.setting(
                    "aws.region", text("REGION", "a region such as eu-central-1", 64))
            .doc("Region of the Lambda functions and of fleet.table. If it is not set, the AWS SDK finds it.");
    public static final Setting<URI> AWS_ENDPOINT = AWS.setting("aws.endpoint", uri())
            .doc(
                    "URL of the Lambda endpoint, for example of an emulator. If it is not set, the AWS SDK uses the endpoint of the region.");
    public static final Setting<Integer> AWS_MAX_INVOCATIONS = AWS.setting(
                    "aws.max-invocations", number(1, 100_000), "5000")
            .doc("Maximum number of Lambda invocations in flight that run workers, over all functions.");

    private static final SettingTopic FLEET = new SettingTopic("Fleet");
    public static final Setting<String> FLEET_TABLE = FLEET.setting(
                    "fleet.table",
                    text("TABLE", "the name or ARN of a DynamoDB table, or the absolute path of a file", 1024))
            .doc("DynamoDB table that all dispatchers of a fleet share, in aws.region. Create it with the command fleet"
                    + " init. For dispatchers of one machine: the absolute path of a file. If it is not set, the dispatcher"
                    + " is alone.");
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

    private static final SettingTopic HTTP = new SettingTopic("HTTP limits and timeouts");
    public static final Setting<Integer> HTTP_MAX_HEADER_SIZE = HTTP.setting(
                    "http.max-header-size", size(HttpLimits.MIN_HEADER_BYTES, HttpLimits.MAX_HEADER_BYTES), "64KiB")
            .reloads()
            .doc("Maximum size of all headers of a request. A larger request gets 431.");
    public static final Setting<Integer> HTTP_MAX_CONCURRENT_STREAMS = HTTP.setting(
                    "http.max-concurrent-streams", number(1, HttpLimits.MAX_STREAMS), "100")
            .reloads()
            .doc("Maximum number of requests in flight on an HTTP/2 connection.");
    public static final Setting<Integer> HTTP_STREAM_WINDOW = HTTP.setting(
                    "http.stream-window", size(HttpLimits.MIN_WINDOW_BYTES, HttpLimits.MAX_WINDOW_BYTES), "256KiB")
            .reloads()
            .doc("Maximum number of bytes of one request body that the dispatcher buffers.");
    public static final Setting<Duration> HTTP_HEADER_TIMEOUT = HTTP.setting(
                    "http.header-timeout", positiveDuration(), "10s")
            .reloads()
            .doc("Maximum time for a TLS handshake, for all headers of a request, and for a worker's HELLO to arrive.");
    public static final Setting<Duration> HTTP_IDLE_TIMEOUT = HTTP.setting(
                    "http.idle-timeout", positiveDuration(), "5m")
            .reloads()
            .doc("Closes a client connection after this time without a request. Also ends a request whose body is "
                    + "unfinished after the headers of the response, if no byte moves for this time.");
    public static final Setting<Duration> HTTP_MAX_CONNECTION_AGE = HTTP.setting(
                    "http.max-connection-age", durationOrOff(), "off")
            .reloads()
            .doc(
                    "Age at which a client must open a new connection, so that clients find new dispatchers. Up to a tenth is"
                            + " added at random. Requests in flight are completed.");
    public static final Setting<Duration> HTTP_BODY_TIMEOUT = HTTP.setting(
                    "http.body-timeout", positiveDuration(), "20s")
            .reloads()
            .doc("Maximum time without a byte of a request's body, until the headers of the response have been sent. A"
                    + " request that takes longer gets 408. For gRPC calls, http.idle-timeout applies instead.");
    public static final Setting<Duration> HTTP_WRITE_TIMEOUT = HTTP.setting(
                    "http.write-timeout", positiveDuration(), "30s")
            .reloads()
            .doc(
                    "Maximum time in which a client reads no byte of a response that is ready to be sent. After it, the response is cut off.");
    public static final Setting<MaxConnections> HTTP_MAX_CONNECTIONS = HTTP.setting(
                    "http.max-connections", PolicyValueTypes.maxConnections(), "10000")
            .reloads()
            .doc(
                    "Maximum number of client connections. Further connections are closed when they are accepted. per-address"
                            + " = the same for one IPv4 address or one IPv6 /64 network, by default half.");
    public static final Setting<Integer> HTTP_CLIENT_MEMORY = HTTP.setting(
                    "http.client-memory", sizeOrAuto(16 << 20, 1 << 30), "auto")
            .doc("Maximum memory that the dispatcher uses for clients. Above 85 % of it, requests on connections that "
                    + "hold much get 503. Above 95 %, the connections that use the most memory are "
                    + "closed. auto means half of the heap or half of the direct memory, whichever is smaller.");

    public static final Setting<ErrorFormat> HTTP_ERROR_FORMAT = HTTP.setting(
                    "http.error-format", choice(ErrorFormat.class), "text")
            .doc(
                    "Body of the dispatcher's own error responses: text = one line of text, problem-json = problem details in"
                            + " JSON (RFC 9457).");

    public static final Setting<Path> FILTERS_PATH = HTTP.setting("filters.path", directory())
            .doc("Directory of jars with filters of requests. If it is not set, there are no filters.");

    public static final Setting<String> HTTP_FAILURE_HEADER = HTTP.setting("http.failure-header", headerName())
            .doc("Header of the dispatcher's own error responses that names the failure, for example"
                    + " x-dispatcher-failure: queue_timeout. If it is not set, they have no such header.");

    public static final Setting<PathRule> HTTP_PATH = HTTP.setting("http.path", choice(PathRule.class))
            .reloads()
            .doc("What happens to a path with several spellings, such as /%6Cogin, //login or /login;a: "
                    + "as-is = it is compared and passed on as it was sent; normalize = it is replaced by its "
                    + "normal form (RFC 3986 section 6.2.2, one slash instead of several); "
                    + "reject-ambiguous = it gets 400 if an application could take it for a path of another "
                    + "route, otherwise it is passed on as it was sent. normalize also rejects what is "
                    + "ambiguous in its normal form. If it is not set, reject-ambiguous applies if a function "
                    + "or a route has a path, otherwise as-is.");

    private static final SettingTopic FORWARDING = new SettingTopic("Forwarding headers");
    public static final Setting<ForwardingPolicy.Trust> FORWARDING_TRUST = FORWARDING
            .setting("forwarding.trust", trust(), "off")
            .doc("Proxy through which all clients connect: off = none, or a Network Load Balancer; append = an"
                    + " Application Load Balancer. Requests keep only the forwarding headers that it writes.");
    public static final Setting<ForwardingHeaders> FORWARDING_HEADERS = FORWARDING
            .setting("forwarding.headers", PolicyValueTypes.forwardingHeaders(), "x-forwarded")
            .reloads()
            .doc("Forwarding headers that tell the handler about the client. via adds the via header to requests and"
                    + " responses. nginx, among others, does not compress its responses to requests with it.");
    public static final Setting<List<String>> FORWARDING_TRUSTED_HEADERS = FORWARDING
            .setting("forwarding.trusted-headers", headerNames(), "")
            .reloads()
            .doc("Further headers that the proxy always writes, such as x-forwarded-prefix. Without them, a header that"
                    + " names a client, a host or a path in place of the request itself is removed.");
    public static final Setting<String> FORWARDING_CLIENT_HEADER = FORWARDING
            .setting("forwarding.client-header", requestHeaderName())
            .reloads()
            .doc("Header whose value names the client, for fairness between clients. It needs a proxy in "
                    + "forwarding.trust that sets the header. Without such a proxy, a client can evade the limits with a "
                    + "new value in each request. If it is not set, the client is identified by its address.");
    public static final Setting<String> FORWARDING_REQUEST_ID_HEADER = FORWARDING
            .setting("forwarding.request-id-header", headerName())
            .doc("Header that identifies a request, for example x-request-id. Requests without it get a random id of 32"
                    + " hexadecimal digits, and error responses of the dispatcher repeat the id. If the header is not set,"
                    + " requests get no id.");

    private static final SettingTopic OBSERVING = new SettingTopic("Admin port and logs");
    public static final Setting<ListenAddress> ADMIN_PORT = OBSERVING
            .setting("admin.port", ValueType.listen("127.0.0.1").orOff(ListenAddress.OFF), "9901")
            .doc(
                    "Port for the live page, its JSON, /health, /ready, /started, /metrics, and /launching, which pauses and resumes"
                            + " launching. Without an address, such as 0.0.0.0:9901, it listens only on loopback.");
    public static final Setting<Set<String>> ADMIN_ALLOWED_HOSTS = OBSERVING
            .setting("admin.allowed-hosts", hostNames(), "")
            .reloads()
            .doc(
                    "Host names that requests to the admin port may use. IP addresses and localhost are always allowed. /health,"
                            + " /ready and /started allow every name.");
    public static final Setting<List<byte[]>> ADMIN_TOKEN = OBSERVING
            .setting("admin.token", ValueType.secrets())
            .reloads()
            .doc(
                    "Token that a request must carry to change something: Authorization: Bearer TOKEN. All tokens of a file"
                            + " are accepted, so that each person or program can have its own, and a token can be replaced. If it"
                            + " is not set, nothing can be changed through the admin port.");
    public static final Setting<List<byte[]>> ADMIN_READ_TOKEN = OBSERVING
            .setting("admin.read-token", ValueType.secrets())
            .reloads()
            .doc(
                    "Token that a request must carry, or one of admin.token, to read anything but /health, /ready and /started."
                            + " It changes nothing. If it is not set, everybody who reaches the port may read.");
    public static final Setting<Path> ADMIN_TLS_CERTIFICATE = OBSERVING
            .setting("admin.tls.certificate", file())
            .reloads()
            .doc("PEM file with the certificate chain of the admin port. Setting it turns on TLS.");
    public static final Setting<Path> ADMIN_TLS_KEY = OBSERVING
            .setting("admin.tls.key", file())
            .reloads()
            .doc("PEM file with the private key of the admin port: PKCS #8, PKCS #1 or SEC 1, unencrypted.");
    public static final Setting<Level> LOG_LEVEL = OBSERVING
            .setting("log.level", choice(Level.class), "info")
            .reloads()
            .doc("Level of the dispatcher's own log, which goes to standard error.");
    public static final Setting<LogFormat> LOG_FORMAT = OBSERVING
            .setting("log.format", choice(LogFormat.class), "text")
            .doc("Form of the dispatcher's own log: text = lines for people, json = one JSON object in each line.");
    public static final Setting<Optional<Path>> ACCESS_LOG_FILE = OBSERVING
            .setting(
                    "access-log.file",
                    new ValueType<>("stdout|FILE", "stdout, or a path", path().parser(), null).orOff(),
                    "off")
            .doc(
                    "File to which an access log is appended, with one line of JSON for each request, or stdout for standard"
                            + " output.");
    public static final Setting<List<AccessField>> ACCESS_LOG_FIELDS = OBSERVING
            .setting("access-log.fields", choices("FIELD...", AccessField.class), allOf(AccessField.class))
            .doc("Fields of a line of the access log, in their order.");

    public static final Setting<URI> METRICS_ENDPOINT = OBSERVING
            .setting("metrics.endpoint", ValueType.collectorOf("metrics", false))
            .doc("URL to which all metrics are sent once a minute by OTLP over HTTP: of a collector, for example"
                    + " http://collector:4318/v1/metrics, or of CloudWatch, for example"
                    + " https://monitoring.eu-west-1.amazonaws.com/v1/metrics. Requests to CloudWatch are signed. If it is not"
                    + " set, metrics are only shown at /metrics of the admin port.");

    private static final SettingTopic TRACING = new SettingTopic("Tracing");
    public static final Setting<URI> TRACING_ENDPOINT = TRACING.setting(
                    "tracing.endpoint", ValueType.collectorOf("traces", true))
            .doc(
                    "URL of the collector that receives traces by OTLP: by gRPC, for example http://collector:4317, or by HTTP,"
                            + " for example http://collector:4318/v1/traces. If it is not set, the dispatcher traces nothing.");
    public static final Setting<Double> TRACING_RATIO = TRACING.setting("tracing.ratio", ratio(), "0.01")
            .reloads()
            .doc(
                    "Part of the requests that is traced: 0 = none, 1 = all. Behind a proxy in forwarding.trust, the traceparent"
                            + " header of a request decides if there is one.");

    private static final SettingTopic PROCESS = new SettingTopic("Sockets, threads and shutdown");
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
            .reloads()
            .doc(
                    "Time after SIGTERM in which the dispatcher keeps serving while /ready answers 503, so that load balancers notice."
                            + " Ctrl-C (SIGINT) skips it.");
    public static final Setting<Duration> SHUTDOWN_GRACE = PROCESS.setting("shutdown.grace", duration(), "15s")
            .reloads()
            .doc(
                    "Maximum time after shutdown.delay in which requests in flight can finish. Then they get 503 or are cut off.");

    private static final List<SettingTopic> TOPICS = Stream.of(
                    List.of(PUBLIC, WORKERS),
                    FunctionSettings.TOPICS,
                    List.of(LOCAL, AWS, FLEET, HTTP, FORWARDING, OBSERVING, TRACING, PROCESS))
            .flatMap(List::stream)
            .toList();

    /** The proxies that can be trusted, or {@code off}. */
    private static ValueType<ForwardingPolicy.Trust> trust() {
        List<ForwardingPolicy.Trust> proxies = Stream.of(ForwardingPolicy.Trust.values())
                .filter(ForwardingPolicy.Trust::isProxied)
                .toList();
        return choice(proxies, "-").orOff(ForwardingPolicy.Trust.REPLACE);
    }

    /** The settings of the dispatcher, and of the filters that belong to it. */
    public static final SettingTable TABLE = new SettingTable(TOPICS, FilterExtensions.ON_CLASS_PATH);

    private Settings() {}
}
