package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The parameters of a request to change something. */
final class ChangeParameters {
    private ChangeParameters() {}

    /**
     * Returns the parameters in their order, decoded.
     *
     * @throws RefusedException if a parameter is not encoded well, or is there twice
     */
    static Map<String, String> of(String uri) {
        Map<String, String> parameters = new LinkedHashMap<>();
        int question = uri.indexOf('?');
        String query = question < 0 ? "" : uri.substring(question + 1);
        for (String part : query.isEmpty() ? new String[0] : query.split("&")) {
            int equals = part.indexOf('=');
            String name = decoded(equals < 0 ? part : part.substring(0, equals));
            if (parameters.put(name, equals < 0 ? "" : decoded(part.substring(equals + 1))) != null) {
                throw new RefusedException(BAD_REQUEST, "expected the parameter " + name + " once, got it twice");
            }
        }
        return parameters;
    }

    /**
     * Returns the parameters, decoded.
     *
     * @throws RefusedException if there is another parameter than those in {@code known}
     */
    static Map<String, String> of(String uri, List<String> known) {
        Map<String, String> parameters = of(uri);
        for (String name : parameters.keySet()) {
            if (!known.contains(name)) {
                throw new RefusedException(BAD_REQUEST, "expected " + names(known) + ", got '" + name + "'");
            }
        }
        return parameters;
    }

    private static String names(List<String> known) {
        return switch (known.size()) {
            case 0 -> "no parameters";
            case 1 -> "the parameter " + known.get(0);
            default -> "the parameters " + String.join(", ", known);
        };
    }

    /** Returns the exception for a parameter that is missing or has a wrong value. */
    static RefusedException wrong(String name, @Nullable String value, String expected) {
        return new RefusedException(
                BAD_REQUEST, name + ": " + (value == null ? "missing" : "'" + value + "'") + ", expected " + expected);
    }

    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new RefusedException(BAD_REQUEST, "'" + text + "': expected percent signs with two digits");
        }
    }
}
