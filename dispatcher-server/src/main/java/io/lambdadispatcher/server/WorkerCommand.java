package io.lambdadispatcher.server;

import io.lambdadispatcher.wire.event.Json;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** Drains or replaces workers of a running dispatcher. */
final class WorkerCommand extends ChangeCommand {
    private static final String FUNCTION = "--function";
    private static final String VERSION = "--function-version";

    private static final Map<String, String> REASONS = Map.of(
            "drains_already", "It drains already.",
            "not_connected", "It has no connection yet, so it cannot be drained. Try again when it is ready.",
            "not_launched_here",
                    "This dispatcher has not launched it, so cannot replace it. Ask the dispatcher that has, or drain"
                            + " it.");

    private final String path;
    private final String done;

    private WorkerCommand(String name, Map<String, String> environment, String done, String... description) {
        super(name, environment, description);
        path = "/api/workers/" + name;
        this.done = done;
        spec().addPositional(PositionalParamSpec.builder()
                .paramLabel("ID")
                .type(String.class)
                .arity("0..1")
                .index("0")
                .description(
                        "The worker with this id, or with an id that begins so. dispatcher status and GET /api/workers show the ids.")
                .build());
        spec().addOption(OptionSpec.builder(FUNCTION)
                .paramLabel("NAME")
                .type(String.class)
                .description("All workers of this function, instead of one worker.")
                .build());
        spec().addOption(OptionSpec.builder(VERSION)
                .paramLabel("VERSION")
                .type(String.class)
                .description("With " + FUNCTION + ", only its workers of this version.")
                .build());
    }

    static CommandSpec drain(Map<String, String> environment) {
        return new WorkerCommand(
                        "drain",
                        environment,
                        "drains",
                        "Drains workers: they finish their requests, get no new ones, and exit.",
                        "If the traffic needs replacements, the dispatcher launches them afterwards.")
                .spec();
    }

    static CommandSpec recycle(Map<String, String> environment) {
        return new WorkerCommand(
                        "recycle",
                        environment,
                        "is being replaced",
                        "Replaces workers, at most a quarter of a function's workers at a time.",
                        "A worker drains when its replacement is ready. If replacements fail to start, the workers"
                                + " keep serving.")
                .spec();
    }

    @Override
    String target(ParseResult arguments) throws WrongUseException {
        String id = arguments.matchedPositionalValue(0, null);
        String function = arguments.matchedOptionValue(FUNCTION, null);
        String version = arguments.matchedOptionValue(VERSION, null);
        if ((id == null) == (function == null)) {
            throw new WrongUseException("expected either the id of a worker or " + FUNCTION);
        }
        if (version != null && function == null) {
            throw new WrongUseException(VERSION + ": expected " + FUNCTION + " as well");
        }
        return id != null
                ? path + "?worker=" + encoded(id)
                : path + "?function=" + encoded(function) + (version == null ? "" : "&version=" + encoded(version));
    }

    /** Fails if no worker obeys, so that scripts notice. */
    @Override
    int report(byte[] answer, PrintWriter out) {
        List<?> workers = (List<?>) Json.readObject(answer).get("workers");
        boolean any = false;
        for (Object each : workers == null ? List.of() : workers) {
            Map<?, ?> worker = (Map<?, ?>) each;
            Object outcome = worker.get("outcome");
            boolean obeys = "done".equals(outcome);
            any |= obeys;
            out.println("worker " + worker.get("id") + " of function " + worker.get("function")
                    + (worker.get("version") == null ? "" : ", version " + worker.get("version"))
                    + (obeys ? ": " + done : ": " + REASONS.getOrDefault(outcome, String.valueOf(outcome))));
        }
        if (workers == null || workers.isEmpty()) {
            out.println("The function has no workers.");
        }
        return any ? ExitCode.OK : ExitCode.FAILED;
    }
}
