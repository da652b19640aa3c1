package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.adapter.web.WebConfig.AppProtocol;
import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import io.lambdadispatcher.worker.internal.exchange.Variables;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a {@link WebConfig} from environment variables {@code LAMBDA_DISPATCHER_WEB_…}. It also
 * accepts the variables of the AWS Lambda Web Adapter 1.1 (aws/aws-lambda-web-adapter,
 * docs/guide/src/configuration/environment-variables.md), so an image that was built for that
 * adapter runs unchanged.
 */
final class WebEnvironment {
    static final String PREFIX = "LAMBDA_DISPATCHER_WEB_";

    static final String PORT_VARIABLE = WebHandler.PORT_VARIABLE;

    static final String ADAPTER_PREFIX = "AWS_LWA_";

    private static final String SNAPSHOT_PREFIX = ADAPTER_PREFIX + "SNAPSTART_";

    private static final String PLAIN_PORT = "PORT";
    private static final String[] PORTS = {PORT_VARIABLE, ADAPTER_PREFIX + "PORT", PLAIN_PORT};

    /**
     * The range of free ports is below Linux's ephemeral ports, so that no outgoing connection
     * takes the port before the application listens.
     */
    private static final int FIRST_FREE_PORT = 10_000;

    private static final int FREE_PORTS = 20_000;
    private static final int MOST_TRIED_PORTS = 100;
    private static final int MOST_SECONDS = Integer.MAX_VALUE / 1000;

    private static final String OLD_PREFIX_OF_CHECKS = "READINESS_CHECK_";
    private static final String LEAST_UNHEALTHY = "READINESS_CHECK_MIN_UNHEALTHY_STATUS";

    private static final Logger log = LoggerFactory.getLogger(WebEnvironment.class);

    private final Variables variables;

    private WebEnvironment(Map<String, String> variables) {
        this.variables = new Variables(variables);
    }

    static @Nullable String chosenBy(Map<String, String> variables) {
        List<String> set = new Variables(variables).allSet(PORT_VARIABLE, PREFIX + "COMMAND", ADAPTER_PREFIX + "PORT");
        return set.isEmpty() ? null : set.get(0);
    }

    static boolean isPortGiven(Map<String, String> variables) {
        return new Variables(variables).find(PLAIN_PORT) != null;
    }

    /**
     * @throws IllegalArgumentException if a variable is not allowed. The message names the
     *     variable, its value and what was expected
     */
    static WebConfig read(Map<String, String> variables) {
        return new WebEnvironment(variables).read();
    }

    private WebConfig read() {
        InetSocketAddress address = address();
        AppProtocol protocol = protocol();
        sayWhatDiffers();
        return WebConfig.builder(address)
                .protocol(protocol)
                .command(variables.find(PREFIX + "COMMAND"))
                .drainPath(drainPath())
                .compression(compression())
                .basePath(basePath())
                .authorizationSource(
                        variables.find(PREFIX + "AUTHORIZATION_SOURCE", ADAPTER_PREFIX + "AUTHORIZATION_SOURCE"))
                .idleLimit(time(4_000, "IDLE_MILLIS", "POOL_IDLE_TIMEOUT_SECONDS"))
                .passThroughPath(path("/events", PREFIX + "EVENT_PATH", ADAPTER_PREFIX + "PASS_THROUGH_PATH"))
                .errorStatusCodes(
                        codes(StatusCodes.NONE, PREFIX + "ERROR_STATUS_CODES", ADAPTER_PREFIX + "ERROR_STATUS_CODES"))
                .readinessProbe(probe(protocol))
                .readinessPort(variables.number(address.getPort(), 1, 65_535, names("PORT")))
                .readinessPath(path("/", names("PATH")))
                .healthyStatusCodes(healthy())
                .readinessInterval(millis("READINESS_INTERVAL_MILLIS", 10))
                .readinessLimit(time(300_000, "READINESS_LIMIT_MILLIS", "READINESS_CHECK_TIMEOUT_SECONDS"))
                .build();
    }

    private AppProtocol protocol() {
        return switch (variables.text("http1", PREFIX + "PROTOCOL").toLowerCase(Locale.ROOT)) {
            case "http1" -> AppProtocol.HTTP1;
            case "h2c" -> AppProtocol.H2C;
            default -> throw variables.bad("http1 or h2c", PREFIX + "PROTOCOL");
        };
    }

    /**
     * Returns the names of one setting of the readiness check: ours, the AWS adapter's, and the AWS
     * adapter's deprecated name.
     */
    private static String[] names(String setting) {
        return new String[] {
            PREFIX + "READINESS_" + setting,
            ADAPTER_PREFIX + OLD_PREFIX_OF_CHECKS + setting,
            OLD_PREFIX_OF_CHECKS + setting
        };
    }

    /**
     * Returns the kind of check. For h2c, the default is TCP, because an application that only
     * speaks HTTP/2 does not understand an HTTP/1.1 request.
     */
    private Probe probe(AppProtocol protocol) {
        String fallback = protocol == AppProtocol.H2C ? "tcp" : "http";
        return switch (variables.text(fallback, names("PROTOCOL")).toLowerCase(Locale.ROOT)) {
            case "http" -> Probe.HTTP;
            case "tcp" -> Probe.TCP;
            default -> throw variables.bad("http or tcp", names("PROTOCOL"));
        };
    }

    private StatusCodes healthy() {
        int unhealthy = variables.number(500, 101, 1000, ADAPTER_PREFIX + LEAST_UNHEALTHY, LEAST_UNHEALTHY);
        return codes(StatusCodes.parse("100-" + (unhealthy - 1)), names("HEALTHY_STATUS"));
    }

    private String basePath() {
        String path = variables.text("", PREFIX + "BASE_PATH", ADAPTER_PREFIX + "REMOVE_BASE_PATH", "REMOVE_BASE_PATH");
        String trimmed = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        return trimmed.isEmpty() || trimmed.startsWith("/") ? trimmed : "/" + trimmed;
    }

    private @Nullable String drainPath() {
        String name = PREFIX + "DRAIN_PATH";
        return variables.find(name) == null ? null : path("/", name);
    }

    private void sayWhatDiffers() {
        String mode = variables.find(ADAPTER_PREFIX + "INVOKE_MODE");
        if (mode != null) {
            log.info(
                    "{}INVOKE_MODE={} has no effect. Responses to the dispatcher are always streamed. Responses to direct invocations are never streamed.",
                    ADAPTER_PREFIX,
                    mode);
        }
        List<String> hooks =
                variables.allSet(SNAPSHOT_PREFIX + "BEFORE_CHECKPOINT_PATH", SNAPSHOT_PREFIX + "AFTER_RESTORE_PATH");
        if (!hooks.isEmpty()) {
            log.warn("{}: set, but has no effect. This worker tells the app nothing about snapshots.", hooks);
        }
    }

    /**
     * Returns whether to compress. The AWS adapter does not compress streamed responses, so its two
     * variables exclude each other.
     */
    private boolean compression() {
        String own = variables.find(PREFIX + "COMPRESSION");
        if (own != null) {
            return switch (own.toLowerCase(Locale.ROOT)) {
                case "true" -> true;
                case "false" -> false;
                default -> throw variables.bad("true or false", PREFIX + "COMPRESSION");
            };
        }
        boolean enabled = "true".equals(variables.find(ADAPTER_PREFIX + "ENABLE_COMPRESSION"));
        boolean streams = "response_stream".equalsIgnoreCase(variables.find(ADAPTER_PREFIX + "INVOKE_MODE"));
        if (enabled && streams) {
            log.warn(
                    "{}ENABLE_COMPRESSION=true has no effect together with {}INVOKE_MODE=response_stream. Set {}COMPRESSION=true to compress.",
                    ADAPTER_PREFIX,
                    ADAPTER_PREFIX,
                    PREFIX);
        }
        return enabled && !streams;
    }

    private InetSocketAddress address() {
        int port = variables.number(8080, 0, 65_535, PORTS);
        String[] names = {PREFIX + "HOST", ADAPTER_PREFIX + "HOST"};
        String host = variables.text("127.0.0.1", names);
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw variables.bad("a host name that can be resolved", names);
        }
        return port == 0 ? new InetSocketAddress(address.getAddress(), freePort(address.getAddress())) : address;
    }

    /** Without a command, nobody would tell the application its port. */
    private int freePort(InetAddress host) {
        if (variables.find(PREFIX + "COMMAND") == null) {
            throw variables.bad("a number, 1 to 65535, or 0 together with " + PREFIX + "COMMAND", PORTS);
        }
        for (int i = 0; i < MOST_TRIED_PORTS; i++) {
            int port = FIRST_FREE_PORT + ThreadLocalRandom.current().nextInt(FREE_PORTS);
            try (ServerSocket free = new ServerSocket(port, 1, host)) {
                return free.getLocalPort();
            } catch (IOException e) {
                log.debug("port {} of {} is not free: {}", port, host, e.toString());
            }
        }
        throw variables.bad("a number, 1 to 65535, because no port of " + host + " is free", PORTS);
    }

    private String path(String otherwise, String... names) {
        String value = variables.text(otherwise, names);
        if (!value.startsWith("/")) {
            throw variables.bad("a path that begins with /", names);
        }
        return value;
    }

    private Duration millis(String name, int otherwise) {
        return Duration.ofMillis(variables.number(otherwise, 0, Integer.MAX_VALUE, PREFIX + name));
    }

    /** Returns a time that our variable has in milliseconds, and the AWS adapter's in seconds. */
    private Duration time(int otherwiseMillis, String millis, String adapterSeconds) {
        String seconds = variables.find(ADAPTER_PREFIX + adapterSeconds);
        if (seconds == null || variables.find(PREFIX + millis) != null) {
            return millis(millis, otherwiseMillis);
        }
        try {
            double value = Double.parseDouble(seconds);
            if (value >= 0 && value <= MOST_SECONDS) {
                return Duration.ofMillis(Math.round(value * 1000));
            }
        } catch (NumberFormatException e) {
            // As bad as a number out of range.
        }
        throw variables.bad("seconds, 0 to " + MOST_SECONDS, ADAPTER_PREFIX + adapterSeconds);
    }

    private StatusCodes codes(StatusCodes otherwise, String... names) {
        String value = variables.find(names);
        if (value == null) {
            return otherwise;
        }
        try {
            return StatusCodes.parse(value);
        } catch (IllegalArgumentException e) {
            throw variables.bad("codes and ranges such as 200,301-399", names);
        }
    }
}
