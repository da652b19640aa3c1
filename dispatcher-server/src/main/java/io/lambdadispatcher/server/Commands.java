package io.lambdadispatcher.server;

import io.lambdadispatcher.aws.AwsLocation;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.config.Settings;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The commands, as picocli knows them: a noun and a verb, except those that are one verb. */
final class Commands {
    private Commands() {}

    static CommandLine commandLine(Map<String, String> environment, Supplier<Termination> termination) {
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
        add(line, environment, termination);
        line.setExecutionStrategy(Commands::execute);
        line.setParameterExceptionHandler((failure, given) -> refuse(failure));
        line.setExecutionExceptionHandler((failure, command, parsed) -> Main.unexpected(failure, command.getErr()));
        return line;
    }

    /** Adds all commands, in the order of the help. */
    private static void add(CommandLine line, Map<String, String> environment, Supplier<Termination> termination) {
        line.addSubcommand(new ServeCommand(environment, termination).spec());
        line.addSubcommand(new DemoCommand(environment, termination).spec());
        line.addSubcommand(new StatusCommand(environment).spec());
        line.addSubcommand(noun(
                "config", "Checks settings.", new ConfigCheckCommand(environment, AwsLocation::requireRegion).spec()));
        line.addSubcommand(noun(
                "fleet", "Prepares what the dispatchers of a fleet share.", new FleetInitCommand(environment).spec()));
        line.addSubcommand(noun(
                "worker",
                "Drains or replaces workers, or prints the keys of external ones.",
                WorkerCommand.drain(environment),
                WorkerCommand.recycle(environment),
                new WorkerKeysCommand(environment).spec()));
        line.addSubcommand(noun(
                "launch",
                "Pauses or resumes launching of workers.",
                SettingCommand.pause(environment),
                SettingCommand.resume(environment)));
        line.addSubcommand(noun(
                "rollout",
                "Stops or resumes the change to another version.",
                SettingCommand.stopRollout(environment),
                SettingCommand.resumeRollout(environment)));
        line.addSubcommand(noun(
                "weights",
                "Changes how functions with the same route share requests.",
                SettingCommand.weights(environment)));
        line.addSubcommand(noun(
                "log-level", "Changes the level of the dispatcher's own log.", SettingCommand.logLevel(environment)));
        // Picocli refuses two commands with the same name.
        Settings.TABLE.filters().commands().stream()
                .collect(Collectors.groupingBy(each -> each.name().split(" ")[0], TreeMap::new, Collectors.toList()))
                .forEach((noun, commands) -> line.addSubcommand(noun(
                        noun,
                        commands.stream().map(FilterCommand::summary).collect(Collectors.joining(" ")),
                        commands.stream()
                                .map(each -> SettingCommand.ofFilter(each, environment))
                                .toArray(CommandSpec[]::new))));
    }

    /** Returns a command that does nothing but have commands, its verbs. */
    private static CommandSpec noun(String name, String description, CommandSpec... verbs) {
        CommandSpec noun = CommandSpec.create().name(name);
        noun.usageMessage()
                .description(description)
                .footer("", "dispatcher " + name + " COMMAND --help explains a command.");
        noun.addOption(help());
        for (CommandSpec verb : verbs) {
            noun.addSubcommand(verb.name(), verb);
        }
        return noun;
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
                .println(line.getCommandSpec().qualifiedName() + " --help lists all "
                        + (line.getSubcommands().isEmpty() ? "flags." : "commands."));
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
