package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.worker.WireLimits;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * The JSON a worker is launched with:
 *
 * <pre>
 * {"function": "hello", "workerId": "w-1", "token": "v1…", "addresses": ["10.0.0.7:8444"],
 *  "connections": 2, "streams": 50, "tls": true, "protocolVersion": 1,
 *  "deadlineMillis": 840000, "idleTimeoutMillis": 0, "tlsFingerprint": "ab12…"}
 * </pre>
 *
 * <p>The first four fields are required (a {@code secret} may stand for the token). {@code dialBack} and {@code streamsPerConnection} are other names of
 * {@code addresses} and {@code streams}. {@code tlsTrustPem} holds the certificates to trust, in PEM; {@code tlsCertificate} and
 * {@code tlsKey} name files; each of them switches TLS on. Unknown fields are skipped: a newer dispatcher may send more.
 */
public final class InvokePayload {
    private static final JsonFactory JSON = new JsonFactory();

    /** Fields that no message shows. */
    private static final Set<String> SECRETS = Set.of("token", "secret");

    private final JsonParser parser;
    private final WorkerSettings settings = new WorkerSettings();

    private InvokePayload(JsonParser parser) {
        this.parser = parser;
    }

    /** @throws IllegalArgumentException names the field, its value and what was expected */
    public static WorkerConfig read(String json) {
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), json)) {
            return new InvokePayload(parser).read();
        } catch (JacksonException e) {
            throw notJson(e);
        }
    }

    /** Reads to the end of the JSON value; the caller closes the stream. @throws IllegalArgumentException as {@link #read(String)} */
    public static WorkerConfig read(InputStream json) {
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), json)) {
            return new InvokePayload(parser).read();
        } catch (JacksonException e) {
            throw notJson(e);
        }
    }

    /** A dispatcher's launch, to go by the fields that every launch has, and not an event of another kind. */
    public static boolean isLaunch(byte[] json) {
        Set<String> names = new HashSet<>();
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), json)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return false;
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                names.add(parser.currentName());
                parser.nextToken();
                parser.skipChildren();
            }
        } catch (JacksonException e) {
            return false;
        }
        return names.contains("workerId") && (names.contains("addresses") || names.contains("dialBack"));
    }

    private static IllegalArgumentException notJson(JacksonException e) {
        // Without the excerpt, which may hold the token.
        return new IllegalArgumentException("invoke payload is not JSON, at "
                + (e.getLocation() == null
                        ? "its end"
                        : "offset " + e.getLocation().getCharOffset()));
    }

    private WorkerConfig read() {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
            throw bad("invoke payload", "a JSON object");
        }
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = parser.currentName();
            parser.nextToken();
            readField(name);
        }
        settings.requireBoth("tlsCertificate", "tlsKey");
        return settings.toConfig();
    }

    private void readField(String name) {
        switch (name) {
            case "function" -> settings.function = text(name);
            case "workerId" -> settings.workerId = text(name);
            case "token" -> settings.token = text(name);
            case "secret" -> settings.secret = text(name);
            case "addresses", "dialBack" -> settings.addresses = addresses(name);
            case "connections" -> settings.connections = number(name);
            case "streams", "streamsPerConnection" -> settings.streams = number(name);
            case "tls" -> settings.tls = flag(name);
            case "tlsFingerprint" -> settings.tlsFingerprint = text(name);
            case "tlsTrustPem" -> settings.tlsTrustPem = text(name);
            case "tlsCertificate" -> settings.tlsCertificate = text(name);
            case "tlsKey" -> settings.tlsKey = text(name);
            case "protocolVersion" -> verifyVersion(number(name));
            case "deadlineMillis" -> settings.deadline = millis(name);
            case "deadlineMarginMillis" -> settings.deadlineMargin = millis(name);
            case "idleTimeoutMillis" -> settings.idleTimeout = millis(name);
            case "drainGraceMillis" -> settings.drainGrace = millis(name);
            case "loneTimeoutMillis" -> settings.loneTimeout = millis(name);
            default -> parser.skipChildren();
        }
    }

    private static void verifyVersion(int version) {
        if (version != WireLimits.PROTOCOL_VERSION) {
            throw WorkerSettings.bad("protocolVersion", version, String.valueOf(WireLimits.PROTOCOL_VERSION));
        }
    }

    private String text(String name) {
        if (parser.currentToken() != JsonToken.VALUE_STRING) {
            throw bad(name, "a string");
        }
        return parser.getString();
    }

    private int number(String name) {
        if (!isLong() || parser.getLongValue() != (int) parser.getLongValue()) {
            throw bad(name, "a 32-bit number");
        }
        return parser.getIntValue();
    }

    private Duration millis(String name) {
        if (!isLong() || !WorkerSettings.isMillis(parser.getLongValue())) {
            throw bad(name, WorkerSettings.MILLIS);
        }
        return Duration.ofMillis(parser.getLongValue());
    }

    private boolean flag(String name) {
        if (parser.currentToken() == JsonToken.VALUE_TRUE || parser.currentToken() == JsonToken.VALUE_FALSE) {
            return parser.getBooleanValue();
        }
        throw bad(name, "true or false");
    }

    /** One that has no more than 64 bits. */
    private boolean isLong() {
        return parser.currentToken() == JsonToken.VALUE_NUMBER_INT
                && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    }

    private IllegalArgumentException bad(String name, String expected) {
        return WorkerSettings.bad(name, SECRETS.contains(name) ? "something else" : shown(), expected);
    }

    /** The value where it cannot be a token or a secret in the wrong place; else what kind of value it is. */
    private String shown() {
        JsonToken token = parser.currentToken();
        if (token == null) {
            return "empty";
        }
        return switch (token) {
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT, VALUE_TRUE, VALUE_FALSE, VALUE_NULL -> parser.getString();
            case VALUE_STRING -> "a string";
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            default -> token.toString();
        };
    }

    private List<InetSocketAddress> addresses(String name) {
        if (parser.currentToken() != JsonToken.START_ARRAY) {
            throw bad(name, "an array of host:port");
        }
        List<InetSocketAddress> found = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            found.add(WorkerSettings.address(name, text(name)));
        }
        return found;
    }
}
