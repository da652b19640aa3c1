package io.lambdadispatcher.server;

import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The main class, with the commands {@code serve}, {@code demo}, {@code check-config},
 * {@code worker-keys}, {@code fleet init} and {@code status}, and those that change a running
 * dispatcher: {@code workers drain}, {@code workers recycle}, {@code weights}, {@code launching},
 * {@code rollout}, {@code clear-cache} and {@code log-level}. See {@link ExitCode} for the exit
 * codes.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        System.exit(commandLine(System.getenv(), Termination::onSignals).execute(arguments));
    }

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
        line.addSubcommand(new ServeCommand(environment, termination).spec());
        line.addSubcommand(new DemoCommand(environment, termination).spec());
        line.addSubcommand(new CheckConfigCommand(environment).spec());
        line.addSubcommand(new WorkerKeysCommand(environment).spec());
        line.addSubcommand(FleetInitCommand.fleet(environment));
        line.addSubcommand(new StatusCommand(environment).spec());
        line.addSubcommand(WorkersCommand.workers(environment));
        line.addSubcommand(SettingCommand.weights(environment).spec());
        line.addSubcommand(SettingCommand.launching(environment).spec());
        line.addSubcommand(SettingCommand.rollout(environment).spec());
        line.addSubcommand(SettingCommand.clearCache(environment).spec());
        line.addSubcommand(SettingCommand.logLevel(environment).spec());
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
