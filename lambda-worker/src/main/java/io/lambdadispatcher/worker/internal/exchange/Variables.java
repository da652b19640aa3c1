package io.lambdadispatcher.worker.internal.exchange;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads settings from environment variables. A setting can have several names, of which the first
 * that is set counts. A blank variable is not set. Immutable. Any thread.
 */
public record Variables(Map<String, String> values) {
    /** Returns those of these variables that are set. */
    public List<String> allSet(String... names) {
        return Stream.of(names).filter(name -> find(name) != null).toList();
    }

    /** Returns the trimmed value of a setting; {@code null} if it is not set. */
    public @Nullable String find(String... names) {
        String value = values.get(nameOf(names));
        return value == null || value.isBlank() ? null : value.trim();
    }

    /** Returns the trimmed value of a setting; {@code otherwise} if it is not set. */
    public String text(String otherwise, String... names) {
        String value = find(names);
        return value == null ? otherwise : value;
    }

    /**
     * Returns the value of a setting; {@code otherwise} if it is not set.
     *
     * @throws IllegalArgumentException if it is no whole number from {@code min} to {@code max}
     */
    public int number(int otherwise, int min, int max, String... names) {
        String text = find(names);
        if (text == null) {
            return otherwise;
        }
        try {
            int value = Integer.parseInt(text);
            if (value >= min && value <= max) {
                return value;
            }
        } catch (NumberFormatException e) {
            // As bad as a number out of range.
        }
        throw bad("a number, " + min + " to " + max, names);
    }

    /** Returns an exception that names the variable, its value and what was expected. */
    public IllegalArgumentException bad(String expected, String... names) {
        String name = nameOf(names);
        return new IllegalArgumentException(name + " is '" + values.getOrDefault(name, "") + "', expected " + expected);
    }

    /** Returns the name that counts, or the first name if the setting is not set. */
    private String nameOf(String... names) {
        return Stream.of(names)
                .filter(name -> !values.getOrDefault(name, "").isBlank())
                .findFirst()
                .orElse(names[0]);
    }
}
