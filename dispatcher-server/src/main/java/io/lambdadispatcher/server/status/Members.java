package io.lambdadispatcher.server.status;

import java.util.List;
import java.util.Map;

/**
 * The members of a JSON object. A member that is absent or has another type than expected counts as
 * not known, because another version of the dispatcher may have sent it.
 */
record Members(Map<?, ?> all) {
    /** Shown instead of a value that is not known. */
    static final String UNKNOWN = "-";

    boolean has(String name) {
        return all.get(name) != null;
    }

    /** Returns a text, or {@link #UNKNOWN}. */
    String text(String name) {
        return all.get(name) instanceof String text ? text : UNKNOWN;
    }

    /** Returns a number, or 0. */
    double number(String name) {
        return all.get(name) instanceof Number number ? number.doubleValue() : 0;
    }

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

    /** Returns a number of the last array in an array, or 0. */
    double last(String name, int index) {
        List<?> array = array(name);
        return !array.isEmpty()
                        && array.get(array.size() - 1) instanceof List<?> last
                        && index < last.size()
                        && last.get(index) instanceof Number number
                ? number.doubleValue()
                : 0;
    }

    private List<?> array(String name) {
        return all.get(name) instanceof List<?> list ? list : List.of();
    }
}
