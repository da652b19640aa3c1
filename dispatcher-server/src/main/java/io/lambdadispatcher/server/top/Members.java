package io.lambdadispatcher.server.top;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The members of a JSON object. A member that is absent or has another type than expected counts as
 * not known.
 */
record Members(Map<?, ?> all) {
    /** Shown instead of a value that is not known. */
    static final String UNKNOWN = "-";

    /** Returns these members, except those that {@code newer} has, too. */
    Members updated(Members newer) {
        Map<Object, Object> both = new HashMap<>(all);
        both.putAll(newer.all);
        return new Members(both);
    }

    boolean has(String name) {
        return all.get(name) != null;
    }

    /** Returns a text, or {@link #UNKNOWN}. */
    String text(String name) {
        return all.get(name) instanceof String text ? text : UNKNOWN;
    }

    /** Returns a number, or 0. */
    double number(String name) {
        return number(all.get(name));
    }

    private static double number(@Nullable Object value) {
        return value instanceof Number number ? number.doubleValue() : 0;
    }

    /** Returns whether a member is {@code true}. */
    boolean flag(String name) {
        return Boolean.TRUE.equals(all.get(name));
    }

    /** Returns the members of an object, or none. */
    Members members(String name) {
        return new Members(all.get(name) instanceof Map<?, ?> map ? map : Map.of());
    }

    /** Returns the objects of an array. */
    List<Members> list(String name) {
        return array(name).stream()
                .filter(Map.class::isInstance)
                .map(each -> new Members((Map<?, ?>) each))
                .toList();
    }

    /** Returns the numbers of the last array in an array, or an empty list. */
    List<Double> lastNumbers(String name) {
        List<?> array = array(name);
        return !array.isEmpty() && array.get(array.size() - 1) instanceof List<?> last
                ? last.stream().map(Members::number).toList()
                : List.of();
    }

    private List<?> array(String name) {
        return all.get(name) instanceof List<?> list ? list : List.of();
    }
}
