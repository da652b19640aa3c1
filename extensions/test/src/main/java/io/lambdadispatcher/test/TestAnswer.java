package io.lambdadispatcher.test;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A complete response.
 *
 * @param status 200 to 999
 * @param headers the values of each header, by name in lower case
 * @param body empty if there is none; not copied
 * @param trailers the values of each trailer, by name in lower case; empty if there are none
 */
public record TestAnswer(
        int status, Map<String, List<String>> headers, byte[] body, Map<String, List<String>> trailers) {

    /** Returns the body as text in UTF-8. */
    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    /**
     * Returns the first value of a header, or {@code null} if there is none.
     *
     * @param name in lower case
     */
    public @Nullable String header(String name) {
        List<String> values = headers.get(name);
        return values == null ? null : values.get(0);
    }

    /**
     * Returns the status, the headers and the first 200 characters of the body, for messages of
     * failed assertions.
     */
    @Override
    public String toString() {
        String text = text();
        return status + " " + headers + " " + (text.length() > 200 ? text.substring(0, 200) + "..." : text);
    }
}
