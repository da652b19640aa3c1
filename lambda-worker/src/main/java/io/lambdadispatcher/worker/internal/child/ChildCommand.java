package io.lambdadispatcher.worker.internal.child;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A command to start. The child has the worker's environment variables, with these changes.
 *
 * @param name name in the log, before each line of output
 * @param words the program and its arguments
 * @param directory {@code null} for the worker's directory
 * @param added environment variables that are added or replaced
 * @param removed names of the worker's environment variables that the child does not get
 */
public record ChildCommand(
        String name, List<String> words, @Nullable Path directory, Map<String, String> added, List<String> removed) {
    private static final String SEVERAL = ";&|()`{}\n";
    /**
     * Matches lines that {@code exec} cannot run: assignments before a program, and commands of the
     * shell itself.
     */
    private static final Pattern SHELL_ONLY = Pattern.compile(
            "\\s*(\\w+=|([.:!]|cd|command|eval|exec|exit|export|read|set|trap|ulimit|umask|unset|wait)(\\s|$))");

    public ChildCommand {
        if (words.isEmpty()) {
            throw new IllegalArgumentException("the command of " + name + " is empty, expected a program");
        }
        words = List.copyOf(words);
        added = Map.copyOf(added);
        removed = List.copyOf(removed);
    }

    public static ChildCommand of(String name, List<String> words) {
        return new ChildCommand(name, words, null, Map.of(), List.of());
    }

    /**
     * Returns a command that runs a line with {@code sh -c}. If the line has a single program, the
     * shell becomes that program, so that signals and the worker's death reach it. If it has
     * several programs, they can outlive a worker that was killed.
     */
    public static ChildCommand shell(String name, String line) {
        if (line.isBlank()) {
            throw new IllegalArgumentException(
                    "the command line of " + name + " is '" + line + "', expected a program and its arguments");
        }
        boolean single = SEVERAL.chars().noneMatch(c -> line.indexOf(c) >= 0)
                && !SHELL_ONLY.matcher(line).lookingAt();
        return of(name, List.of("sh", "-c", single ? "exec " + line : line));
    }

    public ChildCommand in(Path newDirectory) {
        return new ChildCommand(name, words, newDirectory, added, removed);
    }

    public ChildCommand with(String variable, String value) {
        Map<String, String> more = new HashMap<>(added);
        more.put(variable, value);
        return new ChildCommand(name, words, directory, more, removed);
    }

    public ChildCommand without(String variable) {
        List<String> more = new ArrayList<>(removed);
        more.add(variable);
        return new ChildCommand(name, words, directory, added, more);
    }

    /** Standard input is a pipe to which nobody writes, and which closes when the worker ends. */
    ProcessBuilder toBuilder() {
        ProcessBuilder builder = new ProcessBuilder(Leash.wrap(words)).redirectErrorStream(true);
        if (directory != null) {
            builder.directory(directory.toFile());
        }
        builder.environment().keySet().removeAll(removed);
        builder.environment().putAll(added);
        return builder;
    }
}
