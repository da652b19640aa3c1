package io.lambdadispatcher.core.spi;

import java.util.Objects;
import java.util.function.Function;

/**
 * A setting that the standalone dispatcher has once for a filter, and not for each function. A
 * change of it needs a restart.
 *
 * @param topic the title above it in the reference of the settings
 * @param name its key, such as {@code http.cache-memory}; two names in lower case, with a dot
 *     between them
 * @param label stands for the value in the help
 * @param expected what a valid text looks like
 * @param parser throws {@link IllegalArgumentException} for any other text. The message shows
 *     {@code expected} instead of the exception's
 * @param doc complete sentences
 * @param byDefault the text of the default
 */
public record ProgramSetting<T>(
        String topic,
        String name,
        String label,
        String expected,
        Function<String, T> parser,
        String doc,
        String byDefault) {
    public ProgramSetting {
        Objects.requireNonNull(topic, "topic");
        Objects.requireNonNull(label, "label");
        Objects.requireNonNull(expected, "expected");
        Objects.requireNonNull(parser, "parser");
        Objects.requireNonNull(doc, "doc");
        Objects.requireNonNull(byDefault, "byDefault");
        if (!name.matches("[a-z][a-z0-9-]*\\.[a-z][a-z0-9-]*") || name.startsWith("function.")) {
            throw new IllegalArgumentException("name \"" + name
                    + "\", expected two names in lower case with a dot between them, the first not function");
        }
    }

    /** The settings that are in force when the filter is created. */
    @FunctionalInterface
    public interface Values {
        <T> T get(ProgramSetting<T> setting);
    }
}
