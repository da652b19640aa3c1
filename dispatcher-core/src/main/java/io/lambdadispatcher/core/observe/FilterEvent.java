package io.lambdadispatcher.core.observe;

import java.util.Map;
import java.util.Objects;

/**
 * Something that a filter has counted or timed. It becomes a metric of the function, without a line
 * of code for it in what reports metrics.
 *
 * @param name what is counted, in lower case, such as {@code shadow.requests}. Events of one name
 *     are either all counted or all timed, and have the same labels
 * @param description one sentence about it
 * @param labels the values by their names. There should be few values, because each one is another
 *     metric
 * @param nanos how long it took; -1 = it is only counted
 * @param count how much there was of what is counted, such as bytes
 */
public record FilterEvent(String name, String description, Map<String, String> labels, long nanos, long count) {
    public FilterEvent {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(description, "description");
        labels = Map.copyOf(labels);
    }

    /** Creates an event that is timed. */
    public FilterEvent(String name, String description, Map<String, String> labels, long nanos) {
        this(name, description, labels, nanos, 1);
    }

    /** Returns an event that is counted. */
    public static FilterEvent counted(String name, String description, Map<String, String> labels) {
        return counted(name, description, labels, 1);
    }

    /** Returns an event of which there was so much, such as bytes. */
    public static FilterEvent counted(String name, String description, Map<String, String> labels, long count) {
        return new FilterEvent(name, description, labels, -1, count);
    }

    /** Returns whether the event has a time. */
    public boolean isTimed() {
        return nanos >= 0;
    }
}
