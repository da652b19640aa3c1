package io.lambdadispatcher.wire.event;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A format of the JSON event of a request, and of its response. {@code
 * docs/reference/direct-requests.md} has the rules of each.
 */
public enum EventFormat {
    /**
     * The event of an Application Load Balancer, with one value for each header and query
     * parameter.
     */
    ALB,
    /**
     * The event of an Application Load Balancer with {@code lambda.multi_value_headers.enabled}.
     */
    ALB_MULTI_VALUE,
    /** The event of API Gateway's HTTP API, payload format 2.0. */
    HTTP_API_V2,
    /**
     * The event of API Gateway's REST API with Lambda proxy integration. HTTP APIs call it payload
     * format 1.0.
     */
    REST_API,
    /**
     * The event of a Lambda function URL: payload format 2.0 with its own {@code requestContext}.
     */
    FUNCTION_URL;

    private final String text = name().toLowerCase(Locale.ROOT).replace('_', '-');

    /** Returns the name that settings use, for example {@code rest-api}. */
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
