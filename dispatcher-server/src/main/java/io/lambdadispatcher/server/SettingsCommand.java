package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.SettingTable;
import io.lambdadispatcher.server.config.SettingTopic;
import io.lambdadispatcher.server.config.Settings;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/**
 * A command that takes {@code --config} and a flag for each setting. Its {@code --help} is one
 * screen; {@code --help-all} has all settings. Runs on the main thread.
 */
abstract class SettingsCommand implements Callable<Integer> {
    static final String HELP_ALL = "--help-all";
    private static final String CONFIG = "--config";

    private final String about;
    private final Map<Setting<?>, String> defaults;
    private final Map<String, String> environment;
    private final CommandSpec spec;

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
        this.about = about;
        this.defaults = Map.copyOf(defaults);
        this.environment = environment;
        spec = CommandSpec.wrapWithoutInspection(this).name(name.substring(name.lastIndexOf(' ') + 1));
        spec.usageMessage()
                .customSynopsis("dispatcher " + name + " [--config=FILE] [--SETTING=VALUE]...")
                .description(Stream.concat(
                                Stream.of(about),
                                shown.stream()
                                        .map(basic ->
                                                "  " + basic.help(defaults).replace("%", "%%")))
                        .toArray(String[]::new))
                .footer("dispatcher " + name + " --help-all lists all "
                        + settings().count() + " settings, and how to set them.")
                .autoWidth(false);
        spec.addOption(OptionSpec.builder(Main.help()).hidden(true).build());
        spec.addOption(
                OptionSpec.builder(HELP_ALL).type(boolean.class).hidden(true).build());
        spec.addOption(
                OptionSpec.builder(CONFIG).type(String.class).hidden(true).build());
        settings()
                .forEach(setting -> spec.addOption(
                        OptionSpec.builder(option(setting)).hidden(true).build()));
        // The loader reports unknown arguments, together with all other problems.
        spec.parser().unmatchedArgumentsAllowed(true).unmatchedOptionsArePositionalParams(false);
    }

    private static Stream<Setting<?>> settings() {
        return Settings.TABLE.topics().stream().flatMap(topic -> topic.settings().stream());
    }

    /** Returns the help with all settings by topic. */
    private String allHelp(SettingTable table) {
        CommandSpec all = CommandSpec.create().name(spec.qualifiedName());
        all.usageMessage()
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
        all.addOption(OptionSpec.builder(CONFIG)
                .paramLabel("FILE")
                .type(String.class)
                .description(
                        "YAML file with settings. Environment variable: " + ConfigurationLoader.FILE_VARIABLE + ".")
                .build());
        table.topics()
                .forEach(topic -> all.addArgGroup(group(topic, table.topics().indexOf(topic))));
        return new CommandLine(all).getUsageMessage();
    }

    private ArgGroupSpec group(SettingTopic topic, int order) {
        ArgGroupSpec.Builder group = ArgGroupSpec.builder()
                // Picocli expands %-conversions in headings, too.
                .heading("%n" + topic.title().replace("%", "%%") + ":%n")
                .validate(false)
                .order(order);
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
            if (line.getParseResult().hasMatchedOption(HELP_ALL)) {
                line.getOut().print(allHelp(ConfigurationLoader.table(file(), environment, flags())));
                line.getOut().flush();
                return ExitCode.OK;
            }
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
        Configuration configuration =
                ConfigurationLoader.load(defaults, file(), environment, flags(), misplaced(parsed()), serves(), known);
        known = configuration.table();
        return configuration;
    }

    private ParseResult parsed() {
        return spec.commandLine().getParseResult();
    }

    private @Nullable Path file() {
        String file = parsed().matchedOptionValue(CONFIG, null);
        return file == null ? null : Path.of(file);
    }

    private Map<String, String> flags() {
        ParseResult parsed = parsed();
        Map<String, String> flags = new LinkedHashMap<>();
        settings().map(Setting::flag).filter(parsed::hasMatchedOption).forEach(flag -> {
            String value = parsed.matchedOptionValue(flag, "");
            flags.put(flag, value);
        });
        return flags;
    }

    /** Returns whether the settings must suffice for a dispatcher. */
    boolean serves() {
        return true;
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
