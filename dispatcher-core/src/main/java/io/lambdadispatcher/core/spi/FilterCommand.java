package io.lambdadispatcher.core.spi;

import java.util.Objects;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;

/**
 * Something that an operator can tell a filter while the standalone dispatcher runs: {@code POST
 * /api/NOUN/VERB} on the admin port, and the command {@code NOUN VERB} of the program. In a fleet,
 * each dispatcher does it.
 *
 * @param name a noun of its own and a verb, in lower case with hyphens: {@code cache clear}
 * @param summary what it does, in one sentence
 * @param doc when to use it, in complete sentences
 * @param result the name of the number in the answer, such as {@code bytes}
 * @param text what the command prints in front of the number
 * @param action does it, on a thread that may block, and returns the number
 */
public record FilterCommand(
        String name, String summary, String doc, String result, String text, ToLongFunction<Filter> action) {
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9]*(-[a-z0-9]+)* [a-z][a-z0-9]*(-[a-z0-9]+)*");

    public FilterCommand {
        Objects.requireNonNull(summary, "summary");
        Objects.requireNonNull(doc, "doc");
        Objects.requireNonNull(result, "result");
        Objects.requireNonNull(text, "text");
        Objects.requireNonNull(action, "action");
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "name \"" + name + "\", expected a noun, a space and a verb in lower case");
        }
    }
}
