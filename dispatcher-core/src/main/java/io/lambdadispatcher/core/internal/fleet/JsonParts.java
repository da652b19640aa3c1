package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.http.PrintableText;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the parts of an entry of the ledger, all of which must be there. */
final class JsonParts {
    private JsonParts() {}

    /** Returns the members of an object; none if the text is something else. */
    static Map<?, ?> object(String text) {
        return Json.readObject(text.getBytes(StandardCharsets.UTF_8));
    }

    /** @throws ClassCastException if the value is no number */
    static long number(@Nullable Object value) {
        return ((BigDecimal) expect(value)).longValue();
    }

    /**
     * Returns a printable text, because all dispatchers of the fleet show it.
     *
     * @throws ClassCastException if the value is no text
     */
    static String text(@Nullable Object value) {
        return PrintableText.of((String) expect(value));
    }

    /** @throws ClassCastException if the value is no array of texts */
    static List<String> texts(@Nullable Object value) {
        return ((List<?>) expect(value)).stream().map(JsonParts::text).toList();
    }

    /** @throws IllegalArgumentException if there is no value */
    static Object expect(@Nullable Object value) {
        if (value == null) {
            throw new IllegalArgumentException("a member is missing");
        }
        return value;
    }
}
