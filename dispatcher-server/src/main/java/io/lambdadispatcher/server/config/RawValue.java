package io.lambdadispatcher.server.config;

import java.util.List;

/**
 * A setting as it was written.
 *
 * @param items one text, or the items of a YAML list
 * @param isList a YAML list, even if of one item
 */
record RawValue(List<String> items, boolean isList, Source source) {
    RawValue {
        items = List.copyOf(items);
    }

    static RawValue of(String text, Source source) {
        return new RawValue(List.of(text), false, source);
    }

    static RawValue list(List<String> items, Source source) {
        return new RawValue(items, true, source);
    }

    String text() {
        return isList ? items.toString() : items.get(0);
    }
}
