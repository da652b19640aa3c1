package io.lambdadispatcher.server.launch;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.io.Reader;
import org.jspecify.annotations.Nullable;

/**
 * Reads lines of a bounded length, so that a worker that never ends a line cannot fill the heap.
 * Not thread-safe.
 */
final class LineReader {
    static final int MAX_LINE_CHARS = 8192;

    private final Reader from;

    LineReader(Reader from) {
        this.from = from;
    }

    /**
     * Reads a line, and makes it printable.
     *
     * @return a line, or a part of a longer line; {@code null} at the end
     */
    @Nullable
    String next() throws IOException {
        StringBuilder line = new StringBuilder();
        int c = from.read();
        if (c < 0) {
            return null;
        }
        while (c >= 0 && c != '\n') {
            if (c != '\r') {
                line.append((char) c);
            }
            if (line.length() == MAX_LINE_CHARS) {
                break;
            }
            c = from.read();
        }
        return PrintableText.of(line);
    }
}
