package io.lambdadispatcher.server.config;

import java.util.List;

/**
 * The text of a setting before it is parsed.
 *
 * @param items one text, or the items of a YAML list
 * @param isList whether it is a YAML list, even of one item
 * @param source where the text was found, such as {@code flag --workers-port}
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
