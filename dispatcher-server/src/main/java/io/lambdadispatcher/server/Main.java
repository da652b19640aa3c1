package io.lambdadispatcher.server;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The main class, with the commands {@code serve}, {@code demo}, {@code config check},
 * {@code worker keys}, {@code fleet init} and {@code status}, and those that change a running
 * dispatcher: {@code worker drain}, {@code worker recycle}, {@code launch pause}, {@code launch
 * resume}, {@code rollout stop}, {@code rollout resume}, {@code weights set}, {@code log-level
 * set}, and what filters can be told. See {@link ExitCode} for the exit codes.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        System.exit(run(
                System.getenv(),
                Termination::onSignals,
                new PrintWriter(System.out, true),
                new PrintWriter(System.err, true),
                arguments));
    }

    /** Runs a command. Returns its exit code. */
    static int run(
            Map<String, String> environment,
            Supplier<Termination> termination,
            PrintWriter out,
            PrintWriter err,
            String... arguments) {
        List<String> words = List.of(arguments);
        boolean help = words.contains("--help") || words.contains("-h");
        if (help || words.isEmpty() || !words.get(0).equals(ServeCommand.NAME)) {
            return Commands.commandLine(environment, termination)
                    .setOut(out)
                    .setErr(err)
                    .execute(arguments);
        }
        // Without picocli, whose classes no cache holds.
        try {
            return new ServeCommand(environment, termination).run(words.subList(1, words.size()), out, err);
        } catch (RuntimeException e) {
            return unexpected(e, err);
        }
    }

    /** Reports a fault of this program. Returns the exit code. */
    static int unexpected(Exception failure, PrintWriter err) {
        err.println("Unexpected failure: " + failure
                + ". This is a fault of Lambda Dispatcher. Please report it, with the lines that follow.");
        failure.printStackTrace(err);
        return ExitCode.FAILED;
    }
}
