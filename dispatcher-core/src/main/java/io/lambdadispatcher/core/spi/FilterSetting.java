package io.lambdadispatcher.core.spi;

import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A setting that each function and each of its routes can have, and that a reload can change. Its
 * value goes to the traffic policy. A list is one text, with a comma and a blank between its items.
 *
 * @param topic the title above it in the reference of the settings
 * @param name its key, such as {@code shadow} for {@code function.shadow}; words in lower case with
 *     hyphens between them, and not {@code function}, with which a route names its function
 * @param type the type under which the filter finds the value, see {@link RequestContext#policy}.
 *     No other setting of a filter may have it, so take a type of the filter's own
 * @param label stands for the value in the help
 * @param expected what a valid text looks like
 * @param parser throws {@link IllegalArgumentException} for any other text. The message shows
 *     {@code expected} instead of the exception's
 * @param check what holds between the value and other functions
 * @param doc complete sentences
 * @param byDefault the text of the default. Then the policy has no value, so the filter knows what
 *     it stands for. Nothing else turns the setting off
 * @param ofRoute what a policy gets of a value: the value itself, or one that knows the route that
 *     has it, which the second argument names
 */
public record FilterSetting<T>(
        String topic,
        String name,
        Class<T> type,
        String label,
        String expected,
        Function<String, T> parser,
        Check<T> check,
        String doc,
        String byDefault,
        BiFunction<T, String, T> ofRoute) {
    private static final String OFF = "off";
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9]*(-[a-z0-9]+)*");

    public FilterSetting {
        Objects.requireNonNull(topic, "topic");
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(label, "label");
        Objects.requireNonNull(expected, "expected");
        Objects.requireNonNull(parser, "parser");
        Objects.requireNonNull(check, "check");
        Objects.requireNonNull(doc, "doc");
        Objects.requireNonNull(byDefault, "byDefault");
        Objects.requireNonNull(ofRoute, "ofRoute");
        if (!NAME.matcher(name).matches() || name.equals("function")) {
            throw new IllegalArgumentException(
                    "name \"" + name + "\", expected words in lower case with hyphens between them, not function");
        }
    }

    /** Creates a setting whose values are the same for all routes. */
    public FilterSetting(
            String topic,
            String name,
            Class<T> type,
            String label,
            String expected,
            Function<String, T> parser,
            Check<T> check,
            String doc,
            String byDefault) {
        this(topic, name, type, label, expected, parser, check, doc, byDefault, (value, route) -> value);
    }

    /** Creates a setting that is {@code off} by default. */
    public FilterSetting(
            String topic,
            String name,
            Class<T> type,
            String label,
            String expected,
            Function<String, T> parser,
            Check<T> check,
            String doc) {
        this(topic, name, type, label, expected, parser, check, doc, OFF);
    }

    /** Returns whether the setting is {@code off} by default. */
    public boolean isOffByDefault() {
        return byDefault.equals(OFF);
    }

    /** Checks a value when all functions are known. */
    @FunctionalInterface
    public interface Check<T> {
        /**
         * @param function the name of the function that has the value
         * @param functions the names of all functions
         * @return what was expected instead; {@code null} = the value is valid
         */
        @Nullable
        String expected(T value, String function, Set<String> functions);
    }
}
