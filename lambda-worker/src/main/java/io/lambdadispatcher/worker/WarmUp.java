package io.lambdadispatcher.worker;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * An init-only invoke: {@code {"warmUp": true, "holdMillis": 500}}. That it has come this far is all that was wanted. It is held for a moment, so
 * that those sent together occupy an environment each.
 *
 * @param holdMillis at most {@value #LONGEST_MILLIS}
 */
record WarmUp(int holdMillis) {
    private static final int LONGEST_MILLIS = 10_000;
    private static final byte[] ANSWER = "{\"warm\":true}".getBytes(StandardCharsets.UTF_8);
    private static final JsonFactory JSON = new JsonFactory();

    /** @return {@code null} if the event is something else */
    static @Nullable WarmUp read(byte[] event) {
        boolean asked = false;
        long holdMillis = 0;
        try (JsonParser parser = JSON.createParser(ObjectReadContext.empty(), event)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return null;
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = parser.currentName();
                JsonToken value = parser.nextToken();
                asked |= name.equals("warmUp") && value == JsonToken.VALUE_TRUE;
                if (name.equals("holdMillis") && value == JsonToken.VALUE_NUMBER_INT) {
                    holdMillis = parser.getLongValue();
                }
                parser.skipChildren();
            }
        } catch (JacksonException e) {
            return null; // whoever reads it next says what is wrong with it
        }
        return asked ? new WarmUp((int) Math.max(0, Math.min(LONGEST_MILLIS, holdMillis))) : null;
    }

    /** @param mostMillis what the invoke has left for it */
    void hold(OutputStream output, int mostMillis) throws IOException {
        try {
            Thread.sleep(Math.min(holdMillis, mostMillis));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        output.write(ANSWER);
    }
}
