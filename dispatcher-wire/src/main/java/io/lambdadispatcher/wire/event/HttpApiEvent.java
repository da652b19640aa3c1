package io.lambdadispatcher.wire.event;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/**
 * Payload format 2.0 of API Gateway's HTTP APIs
 * (<a href="https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html">AWS's description</a>):
 * values of one name are joined with commas, cookies have an array of their own.
 */
final class HttpApiEvent extends EventWriter {
    private static final Set<String> TEXT_TYPES =
            Set.of("application/json", "application/javascript", "application/xml");
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ENGLISH)
            .withZone(ZoneOffset.UTC);
    private static final String ROUTE = "$default";

    /** As function URLs without authentication have it. */
    private static final String ACCOUNT = "anonymous";

    @Override
    void writeRequest(JsonGenerator json, Http2Headers head) {
        String path = path(head);
        String query = query(head);
        json.writeStringProperty("version", "2.0");
        json.writeStringProperty("routeKey", ROUTE);
        json.writeStringProperty("rawPath", path);
        json.writeStringProperty("rawQueryString", query);
        Map<String, Values> fields = fields(head);
        writeCookies(json, fields.remove("cookie"));
        writeJoined(json, "headers", fields);
        if (!query.isEmpty()) {
            writeJoined(json, "queryStringParameters", Query.decoded(query));
        }
        writeContext(json, head, path);
    }

    private static void writeCookies(JsonGenerator json, @Nullable Values cookies) {
        if (cookies == null) {
            return;
        }
        json.writeArrayPropertyStart("cookies");
        for (String cookie : cookies.joined(";").split(";")) {
            String trimmed = cookie.trim();
            if (!trimmed.isEmpty()) {
                json.writeString(trimmed);
            }
        }
        json.writeEndArray();
    }

    private static void writeJoined(JsonGenerator json, String name, Map<String, Values> fields) {
        json.writeObjectPropertyStart(name);
        fields.forEach((field, values) -> json.writeStringProperty(field, values.joined(",")));
        json.writeEndObject();
    }

    private static void writeContext(JsonGenerator json, Http2Headers head, String path) {
        String host = host(head.authority());
        int dot = host.indexOf('.');
        Instant now = Instant.now();
        json.writeObjectPropertyStart("requestContext");
        json.writeStringProperty("accountId", ACCOUNT);
        json.writeStringProperty("apiId", "lambda-dispatcher");
        json.writeStringProperty("domainName", host);
        json.writeStringProperty("domainPrefix", dot < 0 ? host : host.substring(0, dot));
        writeHttp(json, head, path);
        json.writeStringProperty("requestId", requestId());
        json.writeStringProperty("routeKey", ROUTE);
        json.writeStringProperty("stage", ROUTE);
        json.writeStringProperty("time", TIME.format(now));
        json.writeNumberProperty("timeEpoch", now.toEpochMilli());
        json.writeEndObject();
    }

    private static void writeHttp(JsonGenerator json, Http2Headers head, String path) {
        CharSequence agent = head.get(HttpHeaderNames.USER_AGENT);
        json.writeObjectPropertyStart("http");
        json.writeStringProperty("method", head.method().toString());
        json.writeStringProperty("path", path);
        json.writeStringProperty("protocol", "HTTP/1.1");
        json.writeStringProperty("sourceIp", sourceAddress(head));
        json.writeStringProperty("userAgent", agent == null ? "" : agent.toString());
        json.writeEndObject();
    }

    private static String host(@Nullable CharSequence authority) {
        String text = authority == null ? "" : authority.toString();
        int colon = text.lastIndexOf(':');
        return colon > text.lastIndexOf(']') ? text.substring(0, colon) : text;
    }

    /** Tells requests apart in logs; nobody relies on its being hard to guess. */
    private static String requestId() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return new UUID(random.nextLong(), random.nextLong()).toString();
    }

    /** AWS publishes no list for this shape; this is the load balancer's, and what is JSON or XML by its suffix (RFC 6839). */
    @Override
    boolean isTextType(String type) {
        return type.startsWith("text/") || TEXT_TYPES.contains(type) || type.endsWith("+json") || type.endsWith("+xml");
    }

    /** There is no {@code body} then. */
    @Override
    void writeEmptyBody(JsonGenerator json) {}
}
