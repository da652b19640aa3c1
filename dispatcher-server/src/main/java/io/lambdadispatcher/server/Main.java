package io.lambdadispatcher.server;

import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.config.Settings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;

/**
 * The main class, with the commands {@code serve}, {@code demo}, {@code check-config},
 * {@code worker-keys}, {@code fleet init} and {@code status}, and those that change a running
 * dispatcher: {@code workers drain}, {@code workers recycle}, {@code weights}, {@code launching},
 * {@code rollout}, {@code log-level}, and what filters can be told. See {@link ExitCode} for the
 * exit codes.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        System.exit(
                commandLine(System.getenv(), Termination::onSignals, arguments).execute(arguments));
    }

    /** @param arguments may be left out; then there are all commands */
    static CommandLine commandLine(
            Map<String, String> environment, Supplier<Termination> termination, String... arguments) {
        CommandSpec root = CommandSpec.create().name("dispatcher");
        root.usageMessage()
                .autoWidth(false)
                .description(
                        "Dispatches HTTP requests to workers on AWS Lambda.",
                        "One Lambda invocation serves thousands of requests.")
                .footer("", "dispatcher COMMAND --help explains a command.");
        root.addOption(help());
        root.addOption(OptionSpec.builder("--version")
                .versionHelp(true)
                .description("Shows the version.")
                .build());
        root.version("Lambda Dispatcher " + StartupReport.version() + " on Java " + Runtime.version());
        CommandLine line = new CommandLine(root);
        Map<String, Supplier<CommandSpec>> commands = commands(environment, termination);
        // The others are not created, because each of them has an option for every setting. On a
        // quarter of a processor, that takes a second of the start.
        Supplier<CommandSpec> called = arguments.length == 0 ? null : commands.get(arguments[0]);
        (called == null ? commands.values() : List.of(called)).forEach(one -> line.addSubcommand(one.get()));
        line.setExecutionStrategy(Main::execute);
        line.setParameterExceptionHandler((failure, given) -> refuse(failure));
        line.setExecutionExceptionHandler((failure, command, parsed) -> {
            command.getErr()
                    .println("Unexpected failure: " + failure
                            + ". This is a fault of Lambda Dispatcher. Please report it, with the lines that follow.");
            failure.printStackTrace(command.getErr());
            return ExitCode.FAILED;
        });
        return line;
    }

    /** Returns all commands by name, in the order of the help. */
    private static Map<String, Supplier<CommandSpec>> commands(
            Map<String, String> environment, Supplier<Termination> termination) {
        Map<String, Supplier<CommandSpec>> commands = new LinkedHashMap<>();
        commands.put("serve", () -> new ServeCommand(environment, termination).spec());
        commands.put("demo", () -> new DemoCommand(environment, termination).spec());
        commands.put(
                "check-config", () -> new CheckConfigCommand(environment, new DefaultAwsRegionProviderChain()).spec());
        commands.put("worker-keys", () -> new WorkerKeysCommand(environment).spec());
        commands.put("fleet", () -> FleetInitCommand.fleet(environment));
        commands.put("status", () -> new StatusCommand(environment).spec());
        commands.put("workers", () -> WorkersCommand.workers(environment));
        commands.put("weights", () -> SettingCommand.weights(environment).spec());
        commands.put("launching", () -> SettingCommand.launching(environment).spec());
        commands.put("rollout", () -> SettingCommand.rollout(environment).spec());
        commands.put("log-level", () -> SettingCommand.logLevel(environment).spec());
        for (FilterCommand each : Settings.TABLE.filters().commands()) {
            Supplier<CommandSpec> its =
                    () -> SettingCommand.ofFilter(each, environment).spec();
            if (commands.putIfAbsent(each.name(), its) != null) {
                throw new IllegalStateException("two commands " + each.name() + ", one of them of a filter");
            }
        }
        return commands;
    }

    static OptionSpec help() {
        return OptionSpec.builder("-h", "--help")
                .usageHelp(true)
                .description("Shows this help.")
                .build();
    }

    /** Does not print the help, because it would hide the message. */
    private static int refuse(ParameterException failure) {
        CommandLine line = failure.getCommandLine();
        line.getErr().println(failure.getMessage());
        UnmatchedArgumentException.printSuggestions(failure, line.getErr());
        line.getErr()
                .println(line.getCommandSpec().qualifiedName()
                        + (line.getCommandSpec().findOption(SettingsCommand.HELP_ALL) == null
                                ? " --help"
                                : " --help-all")
                        + " lists all " + (line.getSubcommands().isEmpty() ? "flags." : "commands."));
        return ExitCode.USAGE;
    }

    private static int execute(CommandLine.ParseResult parsed) {
        CommandLine.ParseResult last = parsed;
        while (last.hasSubcommand()) {
            last = last.subcommand();
        }
        CommandLine line = last.commandSpec().commandLine();
        boolean needsCommand = !line.getSubcommands().isEmpty();
        if (needsCommand && !last.unmatched().isEmpty()) {
            // Picocli reports it only if there is no --help.
            throw new UnmatchedArgumentException(line, last.unmatched());
        }
        if (needsCommand && !last.isUsageHelpRequested() && !last.isVersionHelpRequested()) {
            line.usage(line.getErr());
            return ExitCode.USAGE;
        }
        return new CommandLine.RunLast().execute(parsed);
    }
}
