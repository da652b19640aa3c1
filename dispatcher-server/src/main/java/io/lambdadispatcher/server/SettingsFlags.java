package io.lambdadispatcher.server;

import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** The flags of a command that takes settings: {@code --config} and one for each setting. */
final class SettingsFlags {
    private static final String CONFIG = "--config";

    private SettingsFlags() {}

    static void addTo(CommandSpec spec, Map<Setting<?>, String> defaults) {
        spec.addOption(OptionSpec.builder(CONFIG)
                .paramLabel("FILE")
                .type(String.class)
                .description("YAML file of settings; also " + ConfigurationLoader.FILE_VARIABLE)
                .build());
        for (Setting<?> setting : Settings.ALL) {
            spec.addOption(option(setting, defaults.getOrDefault(setting, setting.defaultText())));
        }
        // What we do not know goes to the loader, which reports it together with all other problems.
        spec.parser().unmatchedArgumentsAllowed(true).unmatchedOptionsArePositionalParams(false);
    }

    private static OptionSpec option(Setting<?> setting, @org.jspecify.annotations.Nullable String byDefault) {
        String inBrackets = byDefault == null || byDefault.isEmpty() ? "" : " [" + byDefault + "]";
        // Picocli expands %-conversions in descriptions.
        String description = (setting.doc() + "; " + setting.type().expected() + inBrackets).replace("%", "%%");
        return OptionSpec.builder(setting.flag())
                .paramLabel("VALUE")
                .type(String.class)
                .description(description)
                .build();
    }

    static Configuration load(ParseResult parsed, Map<Setting<?>, String> defaults, Map<String, String> environment)
            throws ConfigurationException {
        Map<String, String> flags = new LinkedHashMap<>();
        for (OptionSpec option : parsed.matchedOptions()) {
            if (!option.usageHelp() && !option.longestName().equals(CONFIG)) {
                flags.put(option.longestName(), option.getValue());
            }
        }
        String file = parsed.matchedOptionValue(CONFIG, null);
        return ConfigurationLoader.load(
                defaults, file == null ? null : Path.of(file), environment, flags, misplaced(parsed));
    }

    /** Without the values of unknown flags, which picocli cannot tell from arguments. */
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
}
