package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.Setting;
import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** A command that takes settings. Runs on the main thread. */
abstract class SettingsCommand implements Callable<Integer> {
    private final Map<Setting<?>, String> defaults;
    private final Map<String, String> environment;
    private final CommandSpec spec;

    SettingsCommand(String name, String about, Map<Setting<?>, String> defaults, Map<String, String> environment) {
        this.defaults = Map.copyOf(defaults);
        this.environment = environment;
        spec = CommandSpec.wrapWithoutInspection(this).name(name);
        spec.usageMessage()
                .description(about)
                .width(120)
                .autoWidth(false)
                .sortOptions(false)
                .abbreviateSynopsis(true);
        spec.addOption(OptionSpec.builder("-h", "--help")
                .usageHelp(true)
                .description("shows this")
                .build());
        SettingsFlags.addTo(spec, defaults);
    }

    final CommandSpec spec() {
        return spec;
    }

    @Override
    public final Integer call() {
        CommandLine line = spec.commandLine();
        try {
            return run(SettingsFlags.load(line.getParseResult(), defaults, environment), line.getOut());
        } catch (ConfigurationException e) {
            e.problems().forEach(line.getErr()::println);
            line.getErr().flush();
            return ExitCode.USAGE;
        } catch (StartException e) {
            line.getErr().println("cannot start: " + e.getMessage());
            line.getErr().flush();
            return ExitCode.FAILED;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCode.FAILED;
        }
    }

    /** @return the exit code */
    abstract int run(Configuration configuration, PrintWriter out) throws StartException, InterruptedException;
}
