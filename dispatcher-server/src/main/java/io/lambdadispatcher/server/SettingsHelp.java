package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.SettingTable;
import io.lambdadispatcher.server.config.SettingTopic;
import io.lambdadispatcher.server.config.Settings;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The help of a command that takes a flag for each setting.
 *
 * @param name all words after {@code dispatcher}
 * @param about what the command does
 * @param shown settings that {@code --help} shows
 * @param defaults of the command, which override those of the settings
 */
record SettingsHelp(String name, String about, Set<BasicSetting> shown, Map<Setting<?>, String> defaults) {
    /** Returns picocli's view of the command, which leaves all arguments to the command itself. */
    CommandSpec spec(SettingsCommand command) {
        CommandSpec spec = CommandSpec.wrapWithoutInspection(command).name(name.substring(name.lastIndexOf(' ') + 1));
        spec.usageMessage()
                .customSynopsis("dispatcher " + name + " [--config=FILE] [--SETTING=VALUE]...")
                .description(Stream.concat(
                                Stream.of(about),
                                shown.stream()
                                        .map(basic ->
                                                "  " + basic.help(defaults).replace("%", "%%")))
                        .toArray(String[]::new))
                .footer("dispatcher " + name + " --help-all lists all "
                        + Settings.TABLE.topics().stream()
                                .mapToInt(topic -> topic.settings().size())
                                .sum()
                        + " settings, and how to set them.")
                .autoWidth(false);
        spec.addOption(OptionSpec.builder(Commands.help()).hidden(true).build());
        spec.parser().unmatchedArgumentsAllowed(true).unmatchedOptionsArePositionalParams(false);
        return spec;
    }

    /** Returns the help with all settings by topic. */
    String all(SettingTable table) {
        CommandSpec all = CommandSpec.create().name("dispatcher " + name);
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
        all.addOption(OptionSpec.builder(Arguments.CONFIG)
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
}
