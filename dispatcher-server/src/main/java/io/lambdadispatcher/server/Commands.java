package io.lambdadispatcher.server;

import io.lambdadispatcher.aws.AwsLocation;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.config.Settings;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The commands, as picocli knows them. */
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
        line.addSubcommand(new CheckConfigCommand(environment, AwsLocation::requireRegion).spec());
        line.addSubcommand(new WorkerKeysCommand(environment).spec());
        line.addSubcommand(FleetInitCommand.fleet(environment));
        line.addSubcommand(new StatusCommand(environment).spec());
        line.addSubcommand(WorkersCommand.workers(environment));
        line.addSubcommand(SettingCommand.weights(environment).spec());
        line.addSubcommand(SettingCommand.launching(environment).spec());
        line.addSubcommand(SettingCommand.rollout(environment).spec());
        line.addSubcommand(SettingCommand.logLevel(environment).spec());
        for (FilterCommand each : Settings.TABLE.filters().commands()) {
            if (line.getSubcommands().containsKey(each.name())) {
                throw new IllegalStateException("two commands " + each.name() + ", one of them of a filter");
            }
            line.addSubcommand(SettingCommand.ofFilter(each, environment).spec());
        }
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
