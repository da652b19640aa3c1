package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.HeaderText;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/**
 * Payload format 2.0 of API Gateway's HTTP APIs (<a
 * href="https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html">AWS's
 * description</a>). The values of one name are joined with commas, and cookies are in an array.
 */
class HttpApiEvent extends EventWriter {
    private static final String ROUTE = "$default";

    /** The value of function URLs without authentication. */
    private static final String ACCOUNT = "anonymous";

    @Override
    void writeRequest(JsonGenerator json, Http2Headers head, @Nullable String requestId) {
        String query = query(head);
        json.writeStringProperty("version", "2.0");
        json.writeStringProperty("routeKey", ROUTE);
        json.writeStringProperty("rawPath", path(head));
        json.writeStringProperty("rawQueryString", HeaderText.decode(query));
        Map<String, Values> fields = fields(head);
        fields.remove("cookie");
        writeCookies(json, head.getAll(HttpHeaderNames.COOKIE));
        writeJoined(json, "headers", fields);
        if (!query.isEmpty()) {
            writeJoined(json, "queryStringParameters", QueryString.decoded(query));
        }
        writeContext(json, head, orNew(requestId));
    }

    /** Decodes each cookie separately, because programs of different origins set them. */
    private static void writeCookies(JsonGenerator json, List<CharSequence> cookies) {
        if (cookies.isEmpty()) {
            return;
        }
        json.writeArrayPropertyStart("cookies");
        for (String cookie : String.join(";", cookies).split(";")) {
            String trimmed = cookie.trim();
            if (!trimmed.isEmpty()) {
                json.writeString(HeaderText.decode(trimmed));
            }
        }
        json.writeEndArray();
    }

    private static void writeJoined(JsonGenerator json, String name, Map<String, Values> fields) {
        json.writeObjectPropertyStart(name);
        fields.forEach((field, values) -> json.writeStringProperty(field, values.joined(",")));
        json.writeEndObject();
    }

    private void writeContext(JsonGenerator json, Http2Headers head, String requestId) {
        Instant now = Instant.now();
        json.writeObjectPropertyStart("requestContext");
        json.writeStringProperty("accountId", ACCOUNT);
        json.writeStringProperty("apiId", "lambda-dispatcher");
        writeCaller(json);
        writeDomain(json, head);
        writeHttp(json, head);
        json.writeStringProperty("requestId", requestId);
        json.writeStringProperty("routeKey", ROUTE);
        json.writeStringProperty("stage", ROUTE);
        json.writeStringProperty("time", time(now));
        json.writeNumberProperty("timeEpoch", now.toEpochMilli());
        json.writeEndObject();
    }

    /** Writes nothing, because a route without an authorizer has no such members. */
    void writeCaller(JsonGenerator json) {}

    private static void writeHttp(JsonGenerator json, Http2Headers head) {
        json.writeObjectPropertyStart("http");
        json.writeStringProperty("method", head.method().toString());
        json.writeStringProperty("path", path(head));
        json.writeStringProperty("protocol", "HTTP/1.1");
        json.writeStringProperty("sourceIp", sourceAddress(head));
        json.writeStringProperty("userAgent", userAgent(head));
        json.writeEndObject();
    }

    /**
     * AWS publishes no list for this format. This is the load balancer's list, with JSON and XML
     * recognised by suffix (RFC 6839).
     */
    @Override
    boolean isTextType(@Nullable String type) {
        return isTextByLoadBalancer(type) || type != null && (type.endsWith("+json") || type.endsWith("+xml"));
    }

    /** Writes nothing, because there is no {@code body}. */
    @Override
    void writeEmptyBody(JsonGenerator json) {}
}
