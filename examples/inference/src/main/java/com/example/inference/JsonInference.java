package com.example.inference;

import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * Inference in JSON. A request is {@code {"keys":["f00",…],"values":[0.5,…]}}. An answer always has
 * 12 bytes, such as {@code [0.12345678]}.
 */
final class JsonInference implements Inference {
    private static final AsciiString JSON_TYPE = AsciiString.cached("application/json");
    private static final JsonFactory JSON = new JsonFactory();

    private static final int POINT = 2;
    private static final int LAST_DIGIT = 10;

    @Override
    public AsciiString mediaType() {
        return JSON_TYPE;
    }

    @Override
    public byte[] answer(byte[] request) {
        return text(Network.SHARED.probability(inputs(request)));
    }

    /** Writes eight decimal places. A formatter would take longer than the network itself. */
    static byte[] text(float probability) {
        byte[] text = "[0.00000000]".getBytes(StandardCharsets.US_ASCII);
        long digits = Math.round(probability * 1e8);
        for (int i = LAST_DIGIT; i > POINT; i--) {
            text[i] += (byte) (digits % 10);
            digits /= 10;
        }
        text[1] += (byte) digits;
        return text;
    }

    private static float[] inputs(byte[] request) {
        List<String> keys = new ArrayList<>();
        List<Float> values = new ArrayList<>();
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), request)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("expected a JSON object");
            }
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                json.nextToken();
                switch (name) {
                    case "keys" -> items(json, () -> keys.add(json.getString()));
                    case "values" -> items(json, () -> values.add(json.getFloatValue()));
                    default -> json.skipChildren();
                }
            }
        } catch (JacksonException e) {
            throw new IllegalArgumentException("no such JSON: " + e.getOriginalMessage(), e);
        }
        return Features.inputs(keys, values);
    }

    private static void items(JsonParser json, Runnable item) {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw new IllegalArgumentException(json.currentName() + " is no array");
        }
        while (json.nextToken() != JsonToken.END_ARRAY) {
            item.run();
        }
    }
}
