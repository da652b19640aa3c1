package io.lambdadispatcher.server.config;

import java.util.List;

/**
 * A setting as it was written.
 *
 * @param items one text, or the items of a YAML list
 * @param isList whether it is a YAML list, even if of one item
 * @param source where it was written, in words: {@code flag --workers-port}
 */
record RawValue(List<String> items, boolean isList, String source) {
    RawValue {
        items = List.copyOf(items);
    }

    static RawValue of(String text, String source) {
        return new RawValue(List.of(text), false, source);
    }

    String text() {
        return isList ? items.toString() : items.get(0);
    }
}
