package io.lambdadispatcher.server.demo;

import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.Map;

/** The query parameters of a path. */
final class Query {
    private final Map<String, List<String>> parameters;

    private Query(Map<String, List<String>> parameters) {
        this.parameters = parameters;
    }

    static Query of(String path) {
        return new Query(path.indexOf('?') < 0 ? Map.of() : new QueryStringDecoder(path).parameters());
    }

    String text(String name, String otherwise) {
        List<String> values = parameters.get(name);
        return values == null ? otherwise : values.get(0);
    }

    /** @throws IllegalArgumentException if the parameter is not a number from 0 to {@code most} */
    int number(String name, int otherwise, int most) {
        List<String> values = parameters.get(name);
        if (values == null) {
            return otherwise;
        }
        try {
            int value = Integer.parseInt(values.get(0));
            if (value >= 0 && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            // The same error as for a number out of range.
        }
        throw new IllegalArgumentException("parameter " + name + " is '" + values.get(0) + "', expected 0 to " + most);
    }
}
