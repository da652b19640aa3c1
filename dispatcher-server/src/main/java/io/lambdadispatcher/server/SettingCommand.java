package io.lambdadispatcher.server;

import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.wire.event.Json;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/**
 * Changes weights, the launch switch, a rollout or the log level of a running dispatcher, or tells
 * a filter something.
 */
final class SettingCommand extends ChangeCommand {
    private static final String FUNCTION = "--function";

    /** Returns the path and the query of the request. */
    private interface Target {
        String of(ParseResult arguments) throws WrongUseException;
    }

    /** Prints an answer. */
    private interface Report {
        void print(byte[] answer, PrintWriter out);
    }

    private final Target target;
    private final Report report;

    private SettingCommand(
            String name, Map<String, String> environment, Target target, Report report, String... description) {
        super(name, environment, description);
        this.target = target;
        this.report = report;
    }

    static CommandSpec weights(Map<String, String> environment) {
        return new SettingCommand(
                        "set",
                        environment,
                        SettingCommand::weightsTarget,
                        SettingCommand::printWeights,
                        "Changes how functions with the same route share requests.",
                        "Example: dispatcher weights set shop=95 shop-next=5",
                        "The weights hold until a restart, or until the weight in the settings file changes.")
                .spec()
                .addPositional(PositionalParamSpec.builder()
                        .paramLabel("FUNCTION=WEIGHT")
                        .type(List.class)
                        .auxiliaryTypes(String.class)
                        .arity("1..*")
                        .index("0..*")
                        .description("A function and its weight, 0 to 10000. Other functions keep their weights.")
                        .build());
    }

    static CommandSpec pause(Map<String, String> environment) {
        return launching(
                "pause",
                "off",
                environment,
                "Pauses launching of workers.",
                "Workers that run keep serving. In a fleet, one command is for all dispatchers.");
    }

    static CommandSpec resume(Map<String, String> environment) {
        return launching(
                "resume",
                "on",
                environment,
                "Resumes launching of workers.",
                "In a fleet, one command is for all dispatchers.");
    }

    private static CommandSpec launching(
            String name, String to, Map<String, String> environment, String... description) {
        return new SettingCommand(
                        name,
                        environment,
                        arguments -> launchingTarget(to, arguments),
                        (answer, out) -> out.print(new String(answer, StandardCharsets.UTF_8)),
                        description)
                .spec()
                .addOption(OptionSpec.builder(FUNCTION)
                        .paramLabel("NAME")
                        .type(String.class)
                        .description("Only workers of this function.")
                        .build());
    }

    static CommandSpec stopRollout(Map<String, String> environment) {
        return rollout(
                "stop",
                environment,
                "Stops the change to another version.",
                "The old version keeps serving. GET /api/functions and the live page show the state.");
    }

    static CommandSpec resumeRollout(Map<String, String> environment) {
        return rollout(
                "resume",
                environment,
                "Begins a change to another version again that was stopped.",
                "A few workers get the new version again. GET /api/functions and the live page show the state.");
    }

    private static CommandSpec rollout(String name, Map<String, String> environment, String... description) {
        return new SettingCommand(
                        name,
                        environment,
                        arguments -> "/api/rollout?to=" + name + "&function="
                                + encoded(arguments.matchedPositionalValue(0, "")),
                        (answer, out) -> {
                            Map<String, ?> done = Json.readObject(answer);
                            out.println("function " + done.get("function") + ": the change "
                                    + ("stop".equals(done.get("to")) ? "stops" : "begins again"));
                        },
                        description)
                .spec()
                .addPositional(one("FUNCTION", "The name of the function."));
    }

    static CommandSpec ofFilter(FilterCommand command, Map<String, String> environment) {
        return new SettingCommand(
                        command.name().split(" ")[1],
                        environment,
                        arguments -> "/api/" + command.name().replace(' ', '/'),
                        (answer, out) -> out.println(
                                command.text() + ": " + Json.readObject(answer).get(command.result())),
                        command.summary(),
                        command.doc())
                .spec();
    }

    static CommandSpec logLevel(Map<String, String> environment) {
        return new SettingCommand(
                        "set",
                        environment,
                        arguments -> "/api/log-level?to=" + encoded(arguments.matchedPositionalValue(0, "")),
                        (answer, out) -> out.println(
                                "log level: " + Json.readObject(answer).get("level")),
                        "Changes the level of the dispatcher's own log.",
                        "The level holds until a restart, or until log.level in the settings file changes.")
                .spec()
                .addPositional(one("LEVEL", "error, warn, info, debug or trace."));
    }

    private static PositionalParamSpec one(String label, String description) {
        return PositionalParamSpec.builder()
                .paramLabel(label)
                .type(String.class)
                .arity("1")
                .index("0")
                .description(description)
                .build();
    }

    private static String weightsTarget(ParseResult arguments) throws WrongUseException {
        List<String> pairs = arguments.matchedPositionalValue(0, List.of());
        for (String pair : pairs) {
            if (pair.lastIndexOf('=') < 1) {
                throw new WrongUseException("expected a function and its weight such as shop=95, got \"" + pair + "\"");
            }
        }
        return "/api/weights?" + pairs.stream().map(SettingCommand::parameter).collect(Collectors.joining("&"));
    }

    private static String parameter(String pair) {
        int equals = pair.lastIndexOf('=');
        return encoded(pair.substring(0, equals)) + "=" + encoded(pair.substring(equals + 1));
    }

    private static void printWeights(byte[] answer, PrintWriter out) {
        if (Json.readObject(answer).get("weights") instanceof Map<?, ?> weights) {
            weights.forEach((function, weight) -> out.println("weight of " + function + ": " + weight));
        }
    }

    private static String launchingTarget(String to, ParseResult arguments) {
        String function = arguments.matchedOptionValue(FUNCTION, null);
        return "/launching?to=" + to + (function == null ? "" : "&function=" + encoded(function));
    }

    @Override
    String target(ParseResult arguments) throws WrongUseException {
        return target.of(arguments);
    }

    @Override
    int report(byte[] answer, PrintWriter out) {
        report.print(answer, out);
        return ExitCode.OK;
    }
}
