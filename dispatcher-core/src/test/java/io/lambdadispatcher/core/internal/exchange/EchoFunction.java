package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.spi.FunctionInvoker;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * A Lambda function in Java that returns the body of the request. It reads the event, decodes and
 * encodes the body, and writes the response. It is as fast as possible: it uses Jackson's streaming
 * parser, although Lambda's own library binds objects, and the JDK's base64, which is the fastest.
 *
 * <p><i>Threading:</i> one thread at a time.
 */
final class EchoFunction implements FunctionInvoker {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int HEAD_BYTES = 256;

    @Override
    public CompletionStage<InvokeResult> invoke(String function, byte[] event) {
        return CompletableFuture.completedFuture(new InvokeResult(200, null, respond(handle(read(event)))));
    }

    /** The parts of an event that a handler needs. The rest is skipped. */
    private static final class Event {
        final Map<String, String> headers = new LinkedHashMap<>();
        String path = "";
        String body = "";
        boolean base64;

        byte[] bytes() {
            return base64 ? Base64.getDecoder().decode(body) : body.getBytes(StandardCharsets.UTF_8);
        }
    }

    private record Response(String contentType, byte[] bytes) {}

    private static Event read(byte[] bytes) {
        Event event = new Event();
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), bytes)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                json.nextToken();
                switch (name) {
                    case "path", "rawPath" -> event.path = json.getString();
                    case "headers" -> readHeaders(json, event.headers);
                    case "body" -> event.body = json.getString();
                    case "isBase64Encoded" -> event.base64 = json.getBooleanValue();
                    default -> json.skipChildren();
                }
            }
        }
        return event;
    }

    private static void readHeaders(JsonParser json, Map<String, String> headers) {
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            json.nextToken();
            headers.put(name, json.getString());
        }
    }

    private static Response handle(Event event) {
        if (!event.path.equals("/echo")) {
            throw new IllegalArgumentException("path '" + event.path + "', expected '/echo'");
        }
        return new Response(event.headers.getOrDefault("content-type", "text/plain"), event.bytes());
    }

    private static byte[] respond(Response response) {
        byte[] base64 = Base64.getEncoder().encode(response.bytes());
        ByteArrayOutputStream out = new ByteArrayOutputStream(HEAD_BYTES + base64.length);
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), out)) {
            json.writeStartObject();
            json.writeNumberProperty("statusCode", 200);
            json.writeObjectPropertyStart("headers");
            json.writeStringProperty("content-type", response.contentType());
            json.writeEndObject();
            json.writeBooleanProperty("isBase64Encoded", true);
            json.writeName("body");
            json.writeRawUTF8String(base64, 0, base64.length);
            json.writeEndObject();
        }
        return out.toByteArray();
    }
}
