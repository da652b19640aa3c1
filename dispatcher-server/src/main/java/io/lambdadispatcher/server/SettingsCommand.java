package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParseResult;

/** A command that takes {@code --config} and a flag for each setting. Runs on the main thread. */
abstract class SettingsCommand implements Callable<Integer> {
    private static final String CONFIG = "--config";

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
                .abbreviateSynopsis(true)
                .footer(
                        "",
                        "A DURATION is a number with the unit ms, s, m, h or d, for example 500ms. PORT 0 means any free port.",
                        "Every setting can be given as a flag, as an environment variable, or as a line of FILE:",
                        String.format(
                                "%s=80, %s=80, or %s: 80.",
                                Settings.PUBLIC_PLAIN_PORT.flag(),
                                Settings.PUBLIC_PLAIN_PORT.variable(),
                                Settings.PUBLIC_PLAIN_PORT.name()),
                        "A flag overrides the environment variable. The environment variable overrides FILE.");
        spec.addOption(Main.help());
        spec.addOption(OptionSpec.builder(CONFIG)
                .paramLabel("FILE")
                .type(String.class)
                .description(
                        "YAML file with settings. Environment variable: " + ConfigurationLoader.FILE_VARIABLE + ".")
                .build());
        Settings.topics().forEach(topic -> spec.addArgGroup(group(topic)));
        // The loader reports unknown arguments, together with all other problems.
        spec.parser().unmatchedArgumentsAllowed(true).unmatchedOptionsArePositionalParams(false);
    }

    /** Only groups flags in {@code --help}: they do not depend on each other. */
    private ArgGroupSpec group(Settings.Topic topic) {
        ArgGroupSpec.Builder group = ArgGroupSpec.builder()
                .heading("%n" + topic.title() + ":%n")
                .validate(false)
                .order(Settings.topics().indexOf(topic));
        topic.settings().forEach(setting -> group.addArg(option(setting)));
        return group.build();
    }

    private OptionSpec option(Setting<?> setting) {
        String byDefault = defaults.getOrDefault(setting, setting.defaultText());
        String shown = byDefault == null || byDefault.isEmpty() ? "" : " (default: " + byDefault + ")";
        return OptionSpec.builder(setting.flag())
                .paramLabel(setting.type().label())
                .type(String.class)
                // Picocli expands %-conversions in descriptions.
                .description((setting.doc() + shown).replace("%", "%%"))
                .build();
    }

    final CommandSpec spec() {
        return spec;
    }

    @Override
    public final Integer call() {
        CommandLine line = spec.commandLine();
        try {
            return run(load(), line.getOut());
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

    /** Reads and checks all settings, each time again. */
    final Configuration load() throws ConfigurationException {
        ParseResult parsed = spec.commandLine().getParseResult();
        Map<String, String> flags = new LinkedHashMap<>();
        for (OptionSpec option : parsed.matchedOptions()) {
            if (option.group() != null) {
                flags.put(option.longestName(), onlyValue(option));
            }
        }
        String file = parsed.matchedOptionValue(CONFIG, null);
        return ConfigurationLoader.load(
                defaults, file == null ? null : Path.of(file), environment, flags, misplaced(parsed), serves());
    }

    /** Returns whether the settings must suffice for a dispatcher. */
    boolean serves() {
        return true;
    }

    /** Picocli rejects a flag that is given twice, but not inside a group. */
    private String onlyValue(OptionSpec option) {
        List<String> values = option.originalStringValues();
        if (values.size() > 1) {
            throw new OverwrittenOptionException(
                    spec.commandLine(), option, "option '" + option.longestName() + "' should be specified only once");
        }
        return values.get(0);
    }

    /**
     * Returns unknown flags and unexpected arguments. Picocli cannot tell the values of unknown
     * flags from arguments, so an argument after an unknown flag is left out.
     */
    private static List<String> misplaced(ParseResult parsed) {
        List<String> misplaced = new ArrayList<>();
        boolean afterFlag = false;
        for (String argument : parsed.unmatched()) {
            boolean flag = argument.startsWith("-");
            if (flag || !afterFlag) {
                misplaced.add(argument);
            }
            afterFlag = flag && argument.indexOf('=') < 0;
        }
        return misplaced;
    }

    /** Runs the command. Returns the exit code. */
    abstract int run(Configuration configuration, PrintWriter out) throws StartException, InterruptedException;
}
