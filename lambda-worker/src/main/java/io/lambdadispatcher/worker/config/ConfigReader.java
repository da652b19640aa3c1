package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.worker.HostPort;
import io.lambdadispatcher.wire.worker.WireLimits;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * Reads a {@link WorkerConfig} from an invoke payload or from environment variables: {@code
 * deadlineMillis} of the one is {@code LAMBDA_DISPATCHER_DEADLINE_MILLIS} of the other. Errors name
 * a setting as its author has written it.
 */
final class ConfigReader {
    private static final String PAYLOAD = WorkerConfig.VARIABLE_PREFIX + "PAYLOAD";

    private final Map<?, ?> values;
    private final boolean fromEnvironment;

    private ConfigReader(Map<?, ?> values, boolean fromEnvironment) {
        this.values = values;
        this.fromEnvironment = fromEnvironment;
    }

    static WorkerConfig ofEnvironment(Map<String, String> variables) {
        String payload = variables.get(PAYLOAD);
        return payload == null ? new ConfigReader(variables, true).read() : ofPayload(payload);
    }

    static WorkerConfig ofPayload(String json) {
        if (json.isBlank()) {
            throw bad("invoke payload", "empty", "a JSON object");
        }
        Object value;
        try {
            value = Json.read(json.getBytes(StandardCharsets.UTF_8));
        } catch (JacksonException e) {
            // Without its excerpt of the text, which may hold the token.
            String where = e.getLocation() == null
                    ? "the end"
                    : "byte " + e.getLocation().getByteOffset();
            throw new IllegalArgumentException("invoke payload is not JSON, at " + where);
        }
        if (value instanceof Map<?, ?> members) {
            return new ConfigReader(members, false).read();
        }
        throw bad("invoke payload", kind(value), "a JSON object");
    }

    private WorkerConfig read() {
        List<InetSocketAddress> addresses = addresses();
        String function = required("function", "the name of a function that the dispatcher knows");
        String workerId = fromEnvironment ? text("workerId") : required("workerId", "a name");
        Credential credential = credential();
        WorkerConfig.Builder builder = WorkerConfig.builder(function, credential, addresses);
        if (workerId != null) {
            builder.workerId(workerId);
        }
        String zone = text("zone");
        if (zone != null) {
            builder.zone(zone);
        }
        number("protocolVersion", this::verifyVersion);
        number("connections", builder::connections);
        number("streams", builder::streams);
        number("downstreamShare", builder::downstreamShare);
        millis("deadlineMillis", builder::deadline);
        millis("deadlineMarginMillis", builder::deadlineMargin);
        millis("idleTimeoutMillis", builder::idleTimeout);
        millis("drainGraceMillis", builder::drainGrace);
        millis("loneTimeoutMillis", builder::loneTimeout);
        tls(credential, builder);
        return builder.build();
    }

    private Credential credential() {
        String token = text("token");
        if (token != null) {
            return new Credential.Token(token);
        }
        String key = text("functionKey");
        if (key != null) {
            return new Credential.FunctionKey(key);
        }
        String expected = "the dispatcher's function.secret or workers.secret, the function's key in "
                + named("functionKey") + ", or a launch token in " + named("token");
        return new Credential.Secret(required("secret", expected));
    }

    private void verifyVersion(int version) {
        if (version != WireLimits.PAYLOAD_VERSION) {
            throw bad(named("protocolVersion"), version, String.valueOf(WireLimits.PAYLOAD_VERSION));
        }
    }

    /**
     * A token must not go in clear text by mistake, so the environment or the payload has to ask
     * for it.
     */
    private void tls(Credential credential, WorkerConfig.Builder builder) {
        Boolean on = value("tls", Boolean.class, "true or false");
        WorkerTls trust = trust();
        String certificate = text("tlsCertificate");
        String key = text("tlsKey");
        if ((certificate == null) != (key == null)) {
            String missing = named(key == null ? "tlsKey" : "tlsCertificate");
            String given = named(key == null ? "tlsCertificate" : "tlsKey");
            throw bad(missing, "not set", "a PEM file, because " + given + " is set");
        }
        if (trust == null && (certificate != null || Boolean.TRUE.equals(on))) {
            trust = WorkerTls.system();
        }
        if (trust != null) {
            builder.tls(
                    certificate == null || key == null
                            ? trust
                            : trust.withClientCertificate(Path.of(certificate), Path.of(key)));
        } else if (on != null) {
            builder.plain();
        } else if (!(credential instanceof Credential.Secret)) {
            throw bad(
                    named("tlsFingerprint"),
                    "not set",
                    "the fingerprint that 'dispatcher worker keys' prints, or " + named("tls")
                            + "=false for a worker port without TLS");
        }
    }

    private @Nullable WorkerTls trust() {
        String fingerprint = text("tlsFingerprint");
        if (fingerprint != null) {
            return WorkerTls.fingerprint(fingerprint);
        }
        String pem = text("tlsTrustPem");
        if (pem != null && !fromEnvironment) {
            return WorkerTls.pemText(pem);
        }
        return pem == null ? null : WorkerTls.pem(Path.of(pem));
    }

    private List<InetSocketAddress> addresses() {
        List<?> texts = value("addresses", List.class, "an array of host:port");
        if (texts == null) {
            throw bad(named("addresses"), "not set", "at least one host:port");
        }
        return texts.stream().map(this::address).toList();
    }

    /** {@code host:port} or {@code [v6]:port}, unresolved. */
    private InetSocketAddress address(@Nullable Object value) {
        if (!(value instanceof String text)) {
            throw bad(named("addresses"), kind(value), "a string");
        }
        InetSocketAddress address = HostPort.parse(text);
        if (address == null) {
            throw bad(named("addresses"), "'" + text.trim() + "'", "host:port");
        }
        return address;
    }

    private void number(String name, Consumer<Integer> to) {
        Long value = whole(name, Integer.MIN_VALUE, Integer.MAX_VALUE, "a whole 32-bit number");
        if (value != null) {
            to.accept(value.intValue());
        }
    }

    private void millis(String name, Consumer<Duration> to) {
        long most = WorkerConfig.LONGEST.toMillis();
        Long value = whole(name, 0, most, "milliseconds, 0 to " + most);
        if (value != null) {
            to.accept(Duration.ofMillis(value));
        }
    }

    private @Nullable Long whole(String name, long least, long most, String expected) {
        BigDecimal value = value(name, BigDecimal.class, expected);
        if (value == null) {
            return null;
        }
        boolean fits = value.stripTrailingZeros().scale() <= 0
                && value.compareTo(BigDecimal.valueOf(least)) >= 0
                && value.compareTo(BigDecimal.valueOf(most)) <= 0;
        if (!fits) {
            throw bad(named(name), fromEnvironment ? "'" + value + "'" : value, expected);
        }
        return value.longValue();
    }

    private String required(String name, String expected) {
        String text = text(name);
        if (text == null) {
            throw bad(named(name), "not set", expected);
        }
        return text;
    }

    private @Nullable String text(String name) {
        return value(name, String.class, "a string");
    }

    /** @return {@code null} if the setting is missing */
    private <T> @Nullable T value(String name, Class<T> type, String expected) {
        Object value = values.get(named(name));
        if (fromEnvironment) {
            String text = value == null ? "" : value.toString().trim();
            Object converted = text.isEmpty() ? null : converted(text, type);
            if (converted == null || type.isInstance(converted)) {
                return type.cast(converted);
            }
            throw bad(named(name), "'" + text + "'", expected);
        }
        if (type.isInstance(value) || !values.containsKey(name)) {
            return type.cast(value);
        }
        boolean secret = List.of("token", "secret", "functionKey").contains(name);
        throw bad(name, secret ? "something else" : kind(value), expected);
    }

    /** @return the text itself if it does not stand for such a value */
    private static Object converted(String text, Class<?> type) {
        if (type == List.class) {
            return Arrays.asList(text.split(",", -1));
        }
        if (type == Boolean.class && (text.equals("true") || text.equals("false"))) {
            return Boolean.valueOf(text);
        }
        try {
            return type == BigDecimal.class ? new BigDecimal(text) : text;
        } catch (NumberFormatException e) {
            return text;
        }
    }

    private String named(String name) {
        return fromEnvironment
                ? WorkerConfig.VARIABLE_PREFIX
                        + name.replaceAll("([A-Z])", "_$1").toUpperCase(Locale.ROOT)
                : name;
    }

    /**
     * What kind of value it is, or the value itself where it cannot be a token or a secret in the
     * wrong place.
     */
    private static String kind(@Nullable Object value) {
        return value instanceof String
                ? "a string"
                : value instanceof Map ? "an object" : value instanceof List ? "an array" : String.valueOf(value);
    }

    private static IllegalArgumentException bad(String name, Object value, String expected) {
        return new IllegalArgumentException(name + " is " + value + ", expected " + expected);
    }
}
