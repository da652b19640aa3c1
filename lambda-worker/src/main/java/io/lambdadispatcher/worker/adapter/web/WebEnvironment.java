package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.adapter.web.WebConfig.AppProtocol;
import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A {@link WebConfig} from environment variables {@code LAMBDA_DISPATCHER_WEB_…}; the variables of the AWS Lambda Web Adapter (README of
 * awslabs/aws-lambda-web-adapter, section Configurations) are other names for them, so that an image built for it runs as it is.
 */
final class WebEnvironment {
    static final String PREFIX = "LAMBDA_DISPATCHER_WEB_";

    static final String PORT_VARIABLE = WebHandler.PORT_VARIABLE;

    static final String ADAPTER_PREFIX = "AWS_LWA_";

    private static final String PLAIN_PORT = "PORT";
    private static final String DEFAULT_PORT = "8080";
    private static final String OLD_PREFIX_OF_CHECKS = "READINESS_CHECK_";
    private static final String LEAST_UNHEALTHY = "READINESS_CHECK_MIN_UNHEALTHY_STATUS";

    private static final Logger log = LoggerFactory.getLogger(WebEnvironment.class);

    private final Map<String, String> variables;

    private WebEnvironment(Map<String, String> variables) {
        this.variables = variables;
    }

    static @Nullable String chosenBy(Map<String, String> variables) {
        for (String name : List.of(PORT_VARIABLE, PREFIX + "COMMAND", ADAPTER_PREFIX + "PORT")) {
            if (has(variables, name)) {
                return name;
            }
        }
        return null;
    }

    static boolean isPortGiven(Map<String, String> variables) {
        return has(variables, PLAIN_PORT);
    }

    private static boolean has(Map<String, String> variables, String name) {
        String value = variables.get(name);
        return value != null && !value.isBlank();
    }

    /** @throws IllegalArgumentException names the variable, its value and what was expected */
    static WebConfig read(Map<String, String> variables) {
        return new WebEnvironment(variables).read();
    }

    private WebConfig read() {
        int port = port(DEFAULT_PORT, PORT_VARIABLE, ADAPTER_PREFIX + "PORT", PLAIN_PORT);
        AppProtocol protocol = protocol();
        sayWhatDiffers();
        return WebConfig.builder(address(port))
                .protocol(protocol)
                .command(find(PREFIX + "COMMAND"))
                .drainPath(drainPath())
                .basePath(basePath())
                .authorizationSource(find(PREFIX + "AUTHORIZATION_SOURCE", ADAPTER_PREFIX + "AUTHORIZATION_SOURCE"))
                .idleLimit(millis("IDLE_MILLIS", Duration.ofSeconds(4)))
                .passThroughPath(path("/events", PREFIX + "EVENT_PATH", ADAPTER_PREFIX + "PASS_THROUGH_PATH"))
                .errorStatusCodes(
                        codes(StatusCodes.NONE, PREFIX + "ERROR_STATUS_CODES", ADAPTER_PREFIX + "ERROR_STATUS_CODES"))
                .readinessProbe(probe(protocol))
                .readinessPort(port(Integer.toString(port), names("PORT")))
                .readinessPath(path("/", names("PATH")))
                .healthyStatusCodes(healthy())
                .readinessInterval(millis("READINESS_INTERVAL_MILLIS", Duration.ofMillis(10)))
                .readinessLimit(millis("READINESS_LIMIT_MILLIS", Duration.ofMinutes(5)))
                .build();
    }

    private AppProtocol protocol() {
        String value = text("http1", PREFIX + "PROTOCOL").toLowerCase(Locale.ROOT);
        return switch (value) {
            case "http1" -> AppProtocol.HTTP1;
            case "h2c" -> AppProtocol.H2C;
            default -> throw bad(PREFIX + "PROTOCOL", value, "http1 or h2c");
        };
    }

    /** Of one setting of the check: ours, the adapter's, the adapter's of old. */
    private static String[] names(String setting) {
        return new String[] {
            PREFIX + "READINESS_" + setting,
            ADAPTER_PREFIX + OLD_PREFIX_OF_CHECKS + setting,
            OLD_PREFIX_OF_CHECKS + setting
        };
    }

    /** An application that speaks nothing but HTTP/2 does not understand the check's HTTP/1.1. */
    private Probe probe(AppProtocol protocol) {
        String fallback = protocol == AppProtocol.H2C ? "tcp" : "http";
        String value = text(fallback, names("PROTOCOL")).toLowerCase(Locale.ROOT);
        return switch (value) {
            case "http" -> Probe.HTTP;
            case "tcp" -> Probe.TCP;
            default -> throw bad(nameSet(names("PROTOCOL")), value, "http or tcp");
        };
    }

    private StatusCodes healthy() {
        String[] names = {ADAPTER_PREFIX + LEAST_UNHEALTHY, LEAST_UNHEALTHY};
        String least = find(names);
        if (least == null) {
            return codes(StatusCodes.ALL_BUT_SERVER_ERRORS, names("HEALTHY_STATUS"));
        }
        int unhealthy = number(nameSet(names), least);
        if (unhealthy < 101 || unhealthy > 1000) {
            throw bad(nameSet(names), least, "a status code, 101 to 1000");
        }
        return codes(StatusCodes.parse("100-" + (unhealthy - 1)), names("HEALTHY_STATUS"));
    }

    private String basePath() {
        String path = text("", PREFIX + "BASE_PATH", ADAPTER_PREFIX + "REMOVE_BASE_PATH", "REMOVE_BASE_PATH");
        String trimmed = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        return trimmed.isEmpty() || trimmed.startsWith("/") ? trimmed : "/" + trimmed;
    }

    private @Nullable String drainPath() {
        String name = PREFIX + "DRAIN_PATH";
        String path = find(name);
        if (path != null && !path.startsWith("/")) {
            throw bad(name, path, "a path that begins with /");
        }
        return path;
    }

    private void sayWhatDiffers() {
        String mode = find(ADAPTER_PREFIX + "INVOKE_MODE");
        if (mode != null) {
            log.info(
                    "{}INVOKE_MODE={} changes nothing: responses to the dispatcher always stream, those to ordinary invocations never do",
                    ADAPTER_PREFIX,
                    mode);
        }
        if ("true".equals(find(ADAPTER_PREFIX + "ENABLE_COMPRESSION"))) {
            log.warn(
                    "{}ENABLE_COMPRESSION=true is not supported: responses pass as the app makes them; let the app compress",
                    ADAPTER_PREFIX);
        }
    }

    private @Nullable String find(String... names) {
        String value = variables.get(nameSet(names));
        return value == null || value.isBlank() ? null : value.trim();
    }

    /** @return the one of these that is set, which is what an error names; the first if none is */
    private String nameSet(String... names) {
        for (String name : names) {
            if (has(variables, name)) {
                return name;
            }
        }
        return names[0];
    }

    private String text(String otherwise, String... names) {
        String value = find(names);
        return value == null ? otherwise : value;
    }

    private int port(String otherwise, String... names) {
        String value = text(otherwise, names);
        int port = number(nameSet(names), value);
        if (port < 1 || port > 65_535) {
            throw bad(nameSet(names), value, "a port, 1 to 65535");
        }
        return port;
    }

    private InetSocketAddress address(int port) {
        String[] names = {PREFIX + "HOST", ADAPTER_PREFIX + "HOST"};
        String host = text("127.0.0.1", names);
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw bad(nameSet(names), host, "a host that is known here");
        }
        return address;
    }

    private String path(String otherwise, String... names) {
        String value = text(otherwise, names);
        if (!value.startsWith("/")) {
            throw bad(nameSet(names), value, "a path that begins with /");
        }
        return value;
    }

    private static int number(String name, String value) {
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw bad(name, value, "a number");
        }
    }

    private Duration millis(String name, Duration otherwise) {
        String value = find(PREFIX + name);
        if (value == null) {
            return otherwise;
        }
        int millis = number(PREFIX + name, value);
        if (millis < 0) {
            throw bad(PREFIX + name, value, "milliseconds, zero or more");
        }
        return Duration.ofMillis(millis);
    }

    private StatusCodes codes(StatusCodes otherwise, String... names) {
        String value = find(names);
        if (value == null) {
            return otherwise;
        }
        try {
            return StatusCodes.parse(value);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(nameSet(names) + " is '" + value + "': " + e.getMessage(), e);
        }
    }

    private static IllegalArgumentException bad(String name, String value, String expected) {
        return new IllegalArgumentException(name + " is '" + value + "', expected " + expected);
    }
}
