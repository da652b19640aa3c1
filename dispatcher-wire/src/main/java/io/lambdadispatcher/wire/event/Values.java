package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.HeaderText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The values of one name, in order. Most names have one. Names and values are put as they arrived,
 * one character for each byte, and read as text.
 */
final class Values {
    private final List<String> all = new ArrayList<>(1);

    static void put(Map<String, Values> fields, String name, String value) {
        fields.computeIfAbsent(HeaderText.decode(name), key -> new Values()).all.add(HeaderText.decode(value));
    }

    String last() {
        return all.get(all.size() - 1);
    }

    String joined(String separator) {
        return all.size() == 1 ? all.get(0) : String.join(separator, all);
    }

    List<String> all() {
        return all;
    }
}
