package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.SettingTable;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * A command that takes {@code --config} and a flag for each setting. Its {@code --help} is one
 * screen; {@code --help-all} has all settings. Runs on the main thread.
 *
 * <p>It reads its arguments itself, because picocli's classes are of a version that no cache of
 * loaded classes holds: a dispatcher with a quarter of a processor would load them for seconds.
 */
abstract class SettingsCommand implements Callable<Integer> {
    private final String name;
    private final String about;
    private final Set<BasicSetting> shown;
    private final Map<Setting<?>, String> defaults;
    private final Map<String, String> environment;
    private @Nullable CommandSpec spec;
    private Arguments arguments = Arguments.NONE;

    /** Of the first configuration; {@code null} = none was loaded. Filters are not loaded again. */
    private @Nullable SettingTable known;

    /**
     * @param name all words after {@code dispatcher}
     * @param about what the command does
     * @param shown settings that {@code --help} shows
     */
    SettingsCommand(
            String name,
            String about,
            Set<BasicSetting> shown,
            Map<Setting<?>, String> defaults,
            Map<String, String> environment) {
        this.name = name;
        this.about = about;
        this.shown = shown;
        this.defaults = Map.copyOf(defaults);
        this.environment = environment;
    }

    /** Returns picocli's view of this command, which is the same each time. */
    final CommandSpec spec() {
        CommandSpec created = spec;
        if (created == null) {
            created = help().spec(this);
            describe(created);
            spec = created;
        }
        return created;
    }

    /** Creates it only when it is needed, because it loads picocli. */
    private SettingsHelp help() {
        return new SettingsHelp(name, about, shown, defaults);
    }

    /** Adds to the help what is not a setting. */
    void describe(CommandSpec spec) {}

    /** Called by picocli. */
    @Override
    public final Integer call() {
        CommandLine line = spec().commandLine();
        return run(line.getParseResult().unmatched(), line.getOut(), line.getErr());
    }

    /**
     * Runs the command.
     *
     * @param words the arguments after the name of the command, without {@code --help}
     * @return the exit code
     */
    final int run(List<String> words, PrintWriter out, PrintWriter err) {
        try {
            arguments = Arguments.of(words);
            if (arguments.allHelp()) {
                out.print(help().all(ConfigurationLoader.table(arguments.file(), environment, arguments.flags())));
                out.flush();
                return ExitCode.OK;
            }
            return run(load(), out, err);
        } catch (AdminCommand.WrongUseException e) {
            err.println(e.getMessage());
            err.println("dispatcher " + name + " " + Arguments.HELP_ALL + " lists all flags.");
            err.flush();
            return ExitCode.USAGE;
        } catch (ConfigurationException e) {
            e.problems().forEach(err::println);
            err.flush();
            return ExitCode.USAGE;
        } catch (StartException e) {
            err.println("cannot start: " + e.getMessage());
            err.flush();
            return ExitCode.FAILED;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return ExitCode.FAILED;
        }
    }

    /** Reads and checks all settings, each time again. */
    final Configuration load() throws ConfigurationException {
        Configuration configuration = ConfigurationLoader.load(
                defaults, arguments.file(), environment, arguments.flags(), arguments.misplaced(), serves(), known);
        known = configuration.table();
        return configuration;
    }

    /** Returns whether the settings must suffice for a dispatcher. */
    boolean serves() {
        return true;
    }

    /** Runs the command. Returns the exit code. */
    abstract int run(Configuration configuration, PrintWriter out, PrintWriter err)
            throws ConfigurationException, StartException, InterruptedException;
}
