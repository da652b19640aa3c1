package io.lambdadispatcher.wire.event;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * How a request is written as a JSON event, and its response read. {@code
 * docs/reference/direct-requests.md} has the rules of each.
 */
public enum EventFormat {
    /** An Application Load Balancer's, with one value for each header and query parameter. */
    ALB,
    /** An Application Load Balancer's with {@code lambda.multi_value_headers.enabled}. */
    ALB_MULTI_VALUE,
    /** API Gateway's HTTP API, payload format 2.0. */
    HTTP_API_V2,
    /**
     * API Gateway's REST API with Lambda proxy integration, which HTTP APIs call payload format
     * 1.0.
     */
    REST_API,
    /** A Lambda function URL's: payload format 2.0 with a context of its own. */
    FUNCTION_URL;

    private final String text = name().toLowerCase(Locale.ROOT).replace('_', '-');

    /** As settings have it, e.g. {@code rest-api}. */
    public String text() {
        return text;
    }

    /**
     * Reads the value of a setting.
     *
     * @throws IllegalArgumentException names the setting, its value and all formats
     */
    public static EventFormat parse(String setting, String value) {
        for (EventFormat format : values()) {
            if (format.text.equals(value.trim())) {
                return format;
            }
        }
        String all = Arrays.stream(values()).map(EventFormat::text).collect(Collectors.joining(", "));
        throw new IllegalArgumentException(setting + " is '" + value + "', expected one of " + all);
    }
}
