package io.lambdadispatcher.it.directdemo;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * Echoes the body of an event from a load balancer or an HTTP API. {@code /fail} throws, {@code
 * /slow} exceeds the function's timeout.
 */
public final class EventEcho implements RequestStreamHandler {
    private static final JsonFactory JSON = new JsonFactory();

    @Override
    public void handleRequest(InputStream input, OutputStream output, Context context) {
        Map<String, String> event = topLevel(input);
        String path = event.getOrDefault("path", event.getOrDefault("rawPath", "/"));
        if (path.equals("/fail")) {
            throw new IllegalStateException("asked to fail");
        }
        if (path.equals("/slow")) {
            awaitForever();
        }
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), output)) {
            json.writeStartObject();
            json.writeNumberProperty("statusCode", 200);
            writeHeaders(json, "headers", false, path);
            // A load balancer that sends multi-value headers only accepts responses in that format.
            writeHeaders(json, "multiValueHeaders", true, path);
            json.writeBooleanProperty("isBase64Encoded", Boolean.parseBoolean(event.get("isBase64Encoded")));
            json.writeStringProperty("body", event.getOrDefault("body", ""));
            json.writeEndObject();
        }
    }

    private static void writeHeaders(JsonGenerator json, String name, boolean lists, String path) {
        json.writeObjectPropertyStart(name);
        for (String[] header : new String[][] {{"content-type", "application/octet-stream"}, {"x-path", path}}) {
            if (lists) {
                json.writeArrayPropertyStart(header[0]);
                json.writeString(header[1]);
                json.writeEndArray();
            } else {
                json.writeStringProperty(header[0], header[1]);
            }
        }
        json.writeEndObject();
    }

    private static Map<String, String> topLevel(InputStream input) {
        Map<String, String> fields = new HashMap<>();
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), input)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                if (json.nextToken().isScalarValue()) {
                    fields.put(name, json.getString());
                }
                json.skipChildren();
            }
        }
        return fields;
    }

    private static void awaitForever() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
