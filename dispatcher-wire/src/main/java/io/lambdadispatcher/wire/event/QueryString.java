package io.lambdadispatcher.wire.event;

import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Parses a query string. */
final class QueryString {
    private QueryString() {}

    /**
     * Returns the parameters as the client has written them, because a load balancer does not
     * decode.
     */
    static Map<String, Values> raw(String query) {
        return parse(query, UnaryOperator.identity());
    }

    /** Returns the parameters with percent signs and plus signs decoded, like API Gateway. */
    static Map<String, Values> decoded(String query) {
        return parse(query, QueryString::decode);
    }

    private static Map<String, Values> parse(String query, UnaryOperator<String> decoding) {
        Map<String, Values> parameters = new LinkedHashMap<>();
        int start = 0;
        int equals = query.indexOf('=');
        while (start < query.length()) {
            int end = query.indexOf('&', start);
            end = end < 0 ? query.length() : end;
            if (end > start) {
                if (equals >= 0 && equals < start) {
                    equals = query.indexOf('=', start);
                }
                int nameEnd = equals < 0 || equals > end ? end : equals;
                String name = query.substring(start, nameEnd);
                String value = query.substring(Math.min(nameEnd + 1, end), end);
                Values.put(parameters, decoding.apply(name), decoding.apply(value));
            }
            start = end + 1;
        }
        return parameters;
    }

    private static String decode(String text) {
        try {
            return QueryStringDecoder.decodeComponent(text);
        } catch (IllegalArgumentException malformed) {
            return text;
        }
    }
}
