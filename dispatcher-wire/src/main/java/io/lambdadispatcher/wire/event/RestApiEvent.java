package io.lambdadispatcher.wire.event;

import io.netty.handler.codec.http2.Http2Headers;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/**
 * The event of a REST API's Lambda proxy integration (<a
 * href="https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html">AWS's
 * description</a>) for the resource <code>/{proxy+}</code>. It has the last value and all values of
 * each name.
 */
final class RestApiEvent extends EventWriter {
    private static final String ACCOUNT = "anonymous";
    private static final String STAGE = "$default";

    /** Members that describe the caller, unknown without a signature. */
    private static final List<String> UNKNOWN_OF_CALLER = List.of(
            "accessKey",
            "accountId",
            "apiKey",
            "caller",
            "cognitoAuthenticationProvider",
            "cognitoAuthenticationType",
            "cognitoIdentityId",
            "cognitoIdentityPoolId",
            "principalOrgId",
            "user",
            "userArn");

    /**
     * A REST API shows names as clients write them. In the dispatcher, they are in lower case. Code
     * that was written for a REST API looks for AWS's spelling of these names.
     */
    private static final Map<String, String> SPELLINGS = Stream.of(
                    "Accept",
                    "Accept-Encoding",
                    "Accept-Language",
                    "Authorization",
                    "Cache-Control",
                    "Content-Encoding",
                    "Content-Length",
                    "Content-Type",
                    "Cookie",
                    "Forwarded",
                    "Host",
                    "If-Match",
                    "If-Modified-Since",
                    "If-None-Match",
                    "Origin",
                    "Range",
                    "Referer",
                    "User-Agent",
                    "Via",
                    "X-Amzn-Trace-Id",
                    "X-Forwarded-For",
                    "X-Forwarded-Host",
                    "X-Forwarded-Port",
                    "X-Forwarded-Proto")
            .collect(Collectors.toUnmodifiableMap(name -> name.toLowerCase(Locale.ROOT), name -> name));

    private static final Set<String> BINARY_FAMILIES = Set.of("image", "audio", "video", "font");

    @Override
    void writeRequest(JsonGenerator json, Http2Headers head, @Nullable String requestId) {
        String path = path(head);
        String resource = path.length() > 1 ? "/{proxy+}" : "/";
        json.writeStringProperty("resource", resource);
        json.writeStringProperty("path", path);
        json.writeStringProperty("httpMethod", head.method().toString());
        writeBoth(json, "headers", "multiValueHeaders", spelled(fields(head)));
        writeBoth(json, "queryStringParameters", "multiValueQueryStringParameters", QueryString.decoded(query(head)));
        writePathParameters(json, path);
        json.writeNullProperty("stageVariables");
        writeContext(json, head, resource, orNew(requestId));
    }

    private static Map<String, Values> spelled(Map<String, Values> fields) {
        Map<String, Values> spelled = new LinkedHashMap<>();
        fields.forEach((name, values) -> spelled.put(SPELLINGS.getOrDefault(name, name), values));
        return spelled;
    }

    private static void writeBoth(JsonGenerator json, String single, String multi, Map<String, Values> fields) {
        if (fields.isEmpty()) {
            json.writeNullProperty(single);
            json.writeNullProperty(multi);
            return;
        }
        writeLast(json, single, fields);
        writeAll(json, multi, fields);
    }

    private static void writePathParameters(JsonGenerator json, String path) {
        if (path.length() <= 1) {
            json.writeNullProperty("pathParameters");
            return;
        }
        json.writeObjectPropertyStart("pathParameters");
        json.writeStringProperty("proxy", path.startsWith("/") ? path.substring(1) : path);
        json.writeEndObject();
    }

    private static void writeContext(JsonGenerator json, Http2Headers head, String resource, String requestId) {
        Instant now = Instant.now();
        json.writeObjectPropertyStart("requestContext");
        json.writeStringProperty("accountId", ACCOUNT);
        json.writeStringProperty("apiId", "lambda-dispatcher");
        writeDomain(json, head);
        json.writeStringProperty("extendedRequestId", requestId);
        json.writeStringProperty("httpMethod", head.method().toString());
        writeIdentity(json, head);
        json.writeStringProperty("path", path(head));
        json.writeStringProperty("protocol", "HTTP/1.1");
        json.writeStringProperty("requestId", requestId);
        json.writeStringProperty("requestTime", time(now));
        json.writeNumberProperty("requestTimeEpoch", now.toEpochMilli());
        json.writeStringProperty("resourceId", "lambda-dispatcher");
        json.writeStringProperty("resourcePath", resource);
        json.writeStringProperty("stage", STAGE);
        json.writeEndObject();
    }

    private static void writeIdentity(JsonGenerator json, Http2Headers head) {
        json.writeObjectPropertyStart("identity");
        UNKNOWN_OF_CALLER.forEach(json::writeNullProperty);
        json.writeStringProperty("sourceIp", sourceAddress(head));
        json.writeStringProperty("userAgent", userAgent(head));
        json.writeEndObject();
    }

    /**
     * A REST API treats each body as text, except the types that are configured as binary. These
     * are the types that most APIs configure.
     */
    @Override
    boolean isTextType(@Nullable String type) {
        return type == null
                || !type.equals("application/octet-stream")
                        && !BINARY_FAMILIES.contains(type.substring(0, Math.max(0, type.indexOf('/'))));
    }

    @Override
    void writeEmptyBody(JsonGenerator json) {
        json.writeNullProperty("body");
    }
}
