package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.lambda.DialBackAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Brings the sources of settings together: flag over environment over file over default. All that is wrong is found in one go. Used
 * once, by one thread.
 */
public final class ConfigurationLoader {
    /** Names the settings file; also the flag {@code --config}. */
    public static final String FILE_VARIABLE = Setting.VARIABLE_PREFIX + "CONFIG";

    /** Names a text file that a demo shows when it is ready; set by the launch script for an example. */
    public static final String DEMO_TRY_VARIABLE = Setting.VARIABLE_PREFIX + "DEMO_TRY";

    /** Of the same prefix, but for others: the launch script, the search for this machine's address, workers that share the environment. */
    private static final Set<String> OTHER_VARIABLES = Set.of(
            FILE_VARIABLE,
            DialBackAddress.VARIABLE,
            Setting.VARIABLE_PREFIX + "JAVA_OPTS",
            DEMO_TRY_VARIABLE,
            Setting.VARIABLE_PREFIX + "PAYLOAD",
            Setting.VARIABLE_PREFIX + "HANDLER",
            Setting.VARIABLE_PREFIX + "TLS_TRUST_PEM",
            Setting.VARIABLE_PREFIX + "EXIT_WITH_PARENT");

    private final List<String> problems = new ArrayList<>();
    private final Map<Setting<?>, RawValue> raw = new LinkedHashMap<>();
    private YamlFile file = YamlFile.empty();

    private ConfigurationLoader() {}

    /**
     * @param defaults other defaults than the table's, for commands that are meant for something special
     * @param flags texts by flag, {@code --public-plain-port}, all known
     * @param misplaced arguments that mean nothing: unknown flags and others
     * @param file {@code null} = none, unless the environment names one
     * @throws ConfigurationException with every problem of every source
     */
    public static Configuration load(
            Map<Setting<?>, String> defaults,
            @Nullable Path file,
            Map<String, String> environment,
            Map<String, String> flags,
            List<String> misplaced)
            throws ConfigurationException {
        ConfigurationLoader loader = new ConfigurationLoader();
        loader.readDefaults(defaults);
        loader.readFile(file, environment);
        loader.readEnvironment(environment);
        loader.readFlags(flags);
        misplaced.forEach(loader::refuseArgument);
        return loader.finish();
    }

    private void readDefaults(Map<Setting<?>, String> defaults) {
        defaults.forEach((setting, text) -> raw.put(setting, RawValue.of(text, Source.DEFAULT)));
    }

    private void readFile(@Nullable Path flagged, Map<String, String> environment) {
        String named = environment.get(FILE_VARIABLE);
        if (flagged == null && named == null) {
            return;
        }
        file = YamlFile.read(flagged != null ? flagged : Path.of(named), problems::add);
        file.values().forEach((name, value) -> {
            Setting<?> setting = Settings.BY_NAME.get(name);
            if (setting == null) {
                refuseName(name, value.source());
            } else {
                raw.put(setting, value);
            }
        });
    }

    private void refuseName(String name, Source source) {
        String detail = Settings.groups().anyMatch(name::equals)
                ? ", it is a group of settings such as '" + firstOf(name) + "'"
                : Nearest.suggestion(name, Settings.BY_NAME.keySet());
        problems.add("unknown setting '" + name + "' (" + source + ")" + detail);
    }

    private static String firstOf(String group) {
        return Settings.BY_NAME.keySet().stream()
                .filter(name -> name.startsWith(group + "."))
                .sorted()
                .findFirst()
                .orElseThrow();
    }

    private void readEnvironment(Map<String, String> environment) {
        new TreeMap<>(environment).forEach((variable, text) -> {
            if (variable.startsWith(Setting.VARIABLE_PREFIX) && !OTHER_VARIABLES.contains(variable)) {
                readVariable(variable, text);
            }
        });
    }

    private void readVariable(String variable, String text) {
        Setting<?> setting = Settings.BY_VARIABLE.get(variable);
        if (setting == null) {
            problems.add("unknown environment variable '" + variable + "'"
                    + Nearest.suggestion(variable, Settings.BY_VARIABLE.keySet()));
        } else {
            raw.put(setting, RawValue.of(text, Source.environment(variable)));
        }
    }

    private void readFlags(Map<String, String> flags) {
        flags.forEach((flag, text) -> raw.put(Settings.BY_FLAG.get(flag), RawValue.of(text, Source.flag(flag))));
    }

    private void refuseArgument(String argument) {
        if (!argument.startsWith("-")) {
            problems.add("unexpected argument '" + argument + "'");
            return;
        }
        int equals = argument.indexOf('=');
        String flag = equals < 0 ? argument : argument.substring(0, equals);
        problems.add("unknown flag '" + flag + "'" + Nearest.suggestion(flag, Settings.BY_FLAG.keySet()));
    }

    private Configuration finish() throws ConfigurationException {
        EffectiveValues values = new EffectiveValues(Settings.ALL);
        raw.forEach((setting, value) -> parse(setting, setting.name(), value, values));
        Configuration configuration = new Configuration(values, functions(values));
        ConfigurationChecks.check(configuration, problems::add);
        if (!problems.isEmpty()) {
            throw new ConfigurationException(problems);
        }
        return configuration;
    }

    private <T> void parse(Setting<T> setting, String name, RawValue value, EffectiveValues into) {
        try {
            into.put(Effective.parse(setting, value));
        } catch (IllegalArgumentException | ArithmeticException e) {
            problems.add(name + ": '" + setting.show(value.text()) + "' (" + value.source() + "): expected "
                    + setting.type().expected());
        }
    }

    private Map<String, EffectiveValues> functions(EffectiveValues values) {
        Map<String, EffectiveValues> functions = new LinkedHashMap<>();
        if (file.functions().isEmpty()) {
            EffectiveValues only = new EffectiveValues(Settings.FUNCTION);
            Settings.FUNCTION.forEach(setting -> only.put(values.effective(setting)));
            functions.put("function", only);
            return functions;
        }
        refuseShortcuts();
        for (int i = 0; i < file.functions().size(); i++) {
            functions.put("functions[" + i + "]", entry(i));
        }
        return functions;
    }

    /** A list in the file and a flag for "the" function: which entry would be meant? */
    private void refuseShortcuts() {
        raw.forEach((setting, value) -> {
            if (Settings.FUNCTION.contains(setting) && value.source().kind() != Source.Kind.DEFAULT) {
                problems.add(setting.name() + ": '" + value.text() + "' (" + value.source()
                        + "): expected nothing, for the file has a list of functions; set it there");
            }
        });
    }

    private EffectiveValues entry(int index) {
        EffectiveValues values = new EffectiveValues(Settings.FUNCTION);
        Map<String, RawValue> keys = file.functions().get(index);
        String place = "functions[" + index + "]";
        keys.forEach((key, value) -> {
            Setting<?> setting = Settings.BY_NAME.get("function." + key);
            if (setting == null) {
                List<String> known =
                        Settings.FUNCTION.stream().map(Setting::lastName).toList();
                problems.add("unknown setting '" + place + "." + key + "' (" + value.source() + ")"
                        + Nearest.suggestion(key, known));
            } else {
                parse(setting, place + "." + key, value, values);
            }
        });
        if (!keys.containsKey(Settings.FUNCTION_NAME.lastName())) {
            problems.add(place + ".name (" + file.functionSource(index) + "): has no value, expected "
                    + Settings.FUNCTION_NAME.type().expected());
        }
        return values;
    }
}
