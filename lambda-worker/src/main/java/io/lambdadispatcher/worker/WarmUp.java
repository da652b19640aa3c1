package io.lambdadispatcher.worker;

import java.io.IOException;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An init-only invoke: {@code {"warmUp": true, "holdMillis": 500}}. It has done its work when it
 * arrives. It is held for a moment, so that those sent together occupy an environment each.
 *
 * @param holdMillis at most 10 s
 */
record WarmUp(int holdMillis) {
    private static final BigDecimal LONGEST_MILLIS = BigDecimal.valueOf(10_000);
    private static final byte[] ANSWER = "{\"warm\":true}".getBytes(StandardCharsets.UTF_8);

    /** @return {@code null} if the event is something else */
    static @Nullable WarmUp of(Map<String, ?> event) {
        if (!Boolean.TRUE.equals(event.get("warmUp"))) {
            return null;
        }
        BigDecimal asked = event.get("holdMillis") instanceof BigDecimal millis ? millis : BigDecimal.ZERO;
        return new WarmUp(asked.max(BigDecimal.ZERO).min(LONGEST_MILLIS).intValue());
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
