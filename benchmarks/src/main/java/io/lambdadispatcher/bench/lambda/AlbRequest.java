package io.lambdadispatcher.bench.lambda;

import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/** Reads a request from a load balancer's event. */
final class AlbRequest {
    private static final JsonFactory JSON = new JsonFactory();

    private AlbRequest() {}

    /** @throws IOException if the event is not a load balancer's */
    static Message read(InputStream event) throws IOException {
        Http2Headers headers = new DefaultHttp2Headers(false);
        String body = "";
        String method = "";
        String path = "";
        boolean base64 = false;
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), event)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("event: expected a JSON object");
            }
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                json.nextToken();
                switch (name) {
                    case "httpMethod" -> method = json.getString();
                    case "path" -> path = json.getString();
                    case "headers" -> readHeaders(json, headers);
                    case "body" -> body = json.getString();
                    case "isBase64Encoded" -> base64 = json.getBooleanValue();
                    default -> json.skipChildren();
                }
            }
            headers.method(method).path(path);
            return new Message(headers, bytes(body, base64));
        } catch (JacksonException | IllegalArgumentException e) {
            throw new IOException("event: " + e.getMessage(), e);
        }
    }

    private static void readHeaders(JsonParser json, Http2Headers headers) {
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            json.nextToken();
            headers.add(name, json.getString());
        }
    }

    /**
     * Decodes with the JDK, which is the fastest here: HotSpot compiles it to vector instructions.
     */
    private static byte[] bytes(String body, boolean base64) {
        return base64
                ? Base64.getDecoder().decode(body.getBytes(StandardCharsets.ISO_8859_1))
                : body.getBytes(StandardCharsets.UTF_8);
    }
}
