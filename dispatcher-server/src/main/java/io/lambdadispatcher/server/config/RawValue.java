package io.lambdadispatcher.server.config;

import java.util.List;
import java.util.regex.Pattern;

/**
 * The text of a setting before it is parsed.
 *
 * @param items one text, or the items of a YAML list
 * @param isList whether it is a YAML list, even of one item
 * @param source where the text was found, such as {@code flag --workers-port}
 */
record RawValue(List<String> items, boolean isList, String source) {
    private static final Pattern VARIABLE = Pattern.compile("\\$\\{[^}]*}");

    RawValue {
        items = List.copyOf(items);
    }

    static RawValue of(String text, String source) {
        return new RawValue(List.of(text), false, source);
    }

    /** Returns whether the text has a part such as {@code ${NAME}}. */
    boolean namesVariable() {
        return items.stream().anyMatch(item -> VARIABLE.matcher(item).find());
    }

    String text() {
        return isList ? items.toString() : items.get(0);
    }
}
