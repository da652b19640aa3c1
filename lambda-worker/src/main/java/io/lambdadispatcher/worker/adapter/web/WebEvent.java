package io.lambdadispatcher.worker.adapter.web;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.Base64Body;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The request to the application that the event of an ordinary invocation stands for. Events of an
 * Application Load Balancer, API Gateway (payload formats 1.0 and 2.0) and function URLs become the
 * HTTP requests that they describe. Any other event is posted unchanged to the pass-through path.
 * The AWS Lambda Web Adapter does the same, and also adds the two {@code x-amzn-…-context} headers.
 *
 * @param head the request's headers, with pseudo-headers
 */
record WebEvent(Kind kind, Http2Headers head, byte[] body) {
    /** The shape that the invocation's result must have. */
    enum Kind {
        /**
         * The result for a load balancer, or an API with payload format 1.0: the values of a header
         * are joined, and each cookie has another spelling of {@code set-cookie}.
         */
        SINGLE_VALUES,
        /**
         * The result for a load balancer, or an API with payload format 1.0, with {@code
         * multiValueHeaders}.
         */
        MULTI_VALUES,
        /**
         * The result for payload format 2.0: the values of a header are joined, and cookies are
         * listed separately.
         */
        JOINED_VALUES,
        /** The response's body, for an event that is not an HTTP request. JSON stays unchanged. */
        PASS_THROUGH
    }

    private static final AsciiString REQUEST_CONTEXT = AsciiString.cached("x-amzn-request-context");
    private static final AsciiString LAMBDA_CONTEXT = AsciiString.cached("x-amzn-lambda-context");
    private static final AsciiString HTTPS = AsciiString.cached("https");
    private static final AsciiString JSON_TYPE = AsciiString.cached("application/json");

    /**
     * Returns whether a header describes the invocation. The application trusts these headers, so
     * only an event may set them.
     */
    static boolean isContext(CharSequence name) {
        return HeaderSyntax.passesFor(name, REQUEST_CONTEXT) || HeaderSyntax.passesFor(name, LAMBDA_CONTEXT);
    }

    Origin origin() {
        return kind == Kind.PASS_THROUGH ? Origin.EVENT : Origin.HTTP_EVENT;
    }

    static WebEvent of(byte[] json, WebConfig config, Context context) {
        Map<?, ?> event = Json.readObject(json);
        Object requestContext = event.get("requestContext");
        Map<?, ?> about = requestContext instanceof Map<?, ?> map ? map : Map.of();
        WebEvent made;
        if ("2.0".equals(event.get("version")) && about.get("http") instanceof Map<?, ?> http) {
            made = joined(event, http);
        } else if (event.get("httpMethod") instanceof String method && requestContext != null) {
            made = listed(event, method, about.get("elb") != null);
        } else {
            made = passThrough(json, config);
        }
        HopByHop.removeFromRequest(made.head);
        if (!isOfDispatcher(about)) {
            removeReserved(made.head);
        }
        made.head.set(REQUEST_CONTEXT, Json.write(requestContext));
        made.head.set(LAMBDA_CONTEXT, Json.write(about(context)));
        return made;
    }

    /**
     * Returns whether the dispatcher has sent the event as a direct invocation. AWS writes the
     * context of its own events, so no client can forge this.
     */
    private static boolean isOfDispatcher(Map<?, ?> about) {
        return "lambda-dispatcher".equals(about.get("apiId"))
                || about.get("elb") instanceof Map<?, ?> balancer
                        && text(balancer.get("targetGroupArn"), "").startsWith("lambda-dispatcher:");
    }

    /**
     * Removes the headers that a client must not send. The dispatcher has removed them from
     * requests that arrive through it, but a function can have a URL or a load balancer beside it.
     */
    private static void removeReserved(Http2Headers head) {
        for (CharSequence name : head.names()) {
            if (HeaderSyntax.beginsLike(name, HopByHop.OWN_PREFIX)) {
                head.remove(name);
            }
        }
    }

    private static WebEvent passThrough(byte[] json, WebConfig config) {
        Http2Headers head = head("POST", config.passThroughPath);
        head.add(HttpHeaderNames.CONTENT_TYPE, JSON_TYPE);
        return new WebEvent(Kind.PASS_THROUGH, head, json).counted();
    }

    private static WebEvent joined(Map<?, ?> event, Map<?, ?> http) {
        String path = EventPath.escaped(text(event.get("rawPath"), "/"));
        String query = text(event.get("rawQueryString"), "");
        Http2Headers head = head(text(http.get("method"), "GET"), query.isEmpty() ? path : path + "?" + query);
        if (event.get("headers") instanceof Map<?, ?> fields) {
            fields.forEach((name, value) -> add(head, name, value));
        }
        if (event.get("cookies") instanceof List<?> cookies && !cookies.isEmpty()) {
            head.set(HttpHeaderNames.COOKIE, bytes(String.join("; ", strings(cookies))));
        }
        return new WebEvent(Kind.JOINED_VALUES, head, body(event)).counted();
    }

    private static WebEvent listed(Map<?, ?> event, String method, boolean balancer) {
        boolean multi = event.get("multiValueHeaders") instanceof Map<?, ?>;
        String query = query(event, balancer);
        String path = EventPath.escaped(text(event.get("path"), "/"));
        Http2Headers head = head(method, query.isEmpty() ? path : path + "?" + query);
        Object fields = multi ? event.get("multiValueHeaders") : event.get("headers");
        if (fields instanceof Map<?, ?> map) {
            map.forEach((name, value) -> {
                for (String one : strings(value)) {
                    add(head, name, one);
                }
            });
        }
        return new WebEvent(multi ? Kind.MULTI_VALUES : Kind.SINGLE_VALUES, head, body(event)).counted();
    }

    /**
     * Returns the query string. A load balancer leaves parameters encoded; API Gateway decodes
     * them.
     */
    private static String query(Map<?, ?> event, boolean encoded) {
        Object parameters = event.get("multiValueQueryStringParameters") instanceof Map<?, ?> multi
                ? multi
                : event.get("queryStringParameters");
        List<String> pairs = new ArrayList<>();
        if (parameters instanceof Map<?, ?> map) {
            map.forEach((name, value) -> {
                for (String one : strings(value)) {
                    pairs.add(encoded ? name + "=" + one : encode(String.valueOf(name)) + "=" + encode(one));
                }
            });
        }
        return String.join("&", pairs);
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static Http2Headers head(String method, String target) {
        return new FlatHeaders().method(method).scheme(HTTPS).path(HeaderText.encode(target));
    }

    private static void add(Http2Headers head, @Nullable Object name, @Nullable Object value) {
        String lower = String.valueOf(name).toLowerCase(Locale.ROOT);
        if (lower.equals("host")) {
            head.authority(String.valueOf(value));
        } else if (!lower.startsWith(":")
                && !HttpHeaderNames.CONTENT_LENGTH.contentEquals(lower)
                && !isContext(lower)) {
            head.add(lower, bytes(String.valueOf(value)));
        }
    }

    /**
     * Returns the value in UTF-8, as the AWS Lambda Web Adapter passes it on. Blanks at its ends
     * are not part of it.
     */
    private static AsciiString bytes(String value) {
        return HeaderText.encode(HeaderSyntax.withoutOuterBlanks(value));
    }

    private static byte[] body(Map<?, ?> event) {
        if (!(event.get("body") instanceof String body)) {
            return new byte[0];
        }
        return Boolean.TRUE.equals(event.get("isBase64Encoded"))
                ? Base64Body.decode(body)
                : body.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Sets {@code content-length} to the size of the body. The event's own header may count the
     * body in another encoding.
     */
    private WebEvent counted() {
        if (body.length > 0) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.length));
        }
        return this;
    }

    private static List<String> strings(@Nullable Object value) {
        List<String> strings = new ArrayList<>();
        if (value instanceof List<?> list) {
            list.forEach(one -> strings.add(String.valueOf(one)));
        } else if (value != null) {
            strings.add(value.toString());
        }
        return strings;
    }

    private static String text(@Nullable Object value, String otherwise) {
        return value instanceof String text && !text.isEmpty() ? text : otherwise;
    }

    /**
     * Returns the invocation's description, with the names that the AWS Lambda Web Adapter uses.
     */
    private static Map<String, Object> about(Context context) {
        Map<String, Object> function = new LinkedHashMap<>();
        function.put("function_name", context.getFunctionName());
        function.put("memory", context.getMemoryLimitInMB());
        function.put("version", context.getFunctionVersion());
        function.put("log_stream", context.getLogStreamName());
        function.put("log_group", context.getLogGroupName());
        Map<String, Object> about = new LinkedHashMap<>();
        about.put("request_id", context.getAwsRequestId());
        about.put("deadline", System.currentTimeMillis() + context.getRemainingTimeInMillis());
        about.put("invoked_function_arn", context.getInvokedFunctionArn());
        about.put("env_config", function);
        return about;
    }
}
