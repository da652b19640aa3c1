package io.lambdadispatcher.server.config;

import io.lambdadispatcher.aws.AdvertisedAddress;
import io.lambdadispatcher.wire.http.PrintableText;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Combines the sources of settings: a flag overrides an environment variable, which overrides the
 * file, which overrides the default. Reports all problems together. Used once, by one thread.
 */
public final class ConfigurationLoader {
    /** Names the settings file. The flag {@code --config} overrides it. */
    public static final String FILE_VARIABLE = Setting.VARIABLE_PREFIX + "CONFIG";

    /** Names a text file that a demo shows when it is ready. The launch script sets it. */
    public static final String DEMO_TRY_VARIABLE = Setting.VARIABLE_PREFIX + "DEMO_TRY";

    /** Lists the examples that {@code demo --help} shows. The launch script sets it. */
    public static final String DEMO_EXAMPLES_VARIABLE = Setting.VARIABLE_PREFIX + "DEMO_EXAMPLES";

    /**
     * Variables with the common prefix that are not settings of the server. The launch script, the
     * detection of this machine's address, or workers in the same environment read them.
     */
    private static final Set<String> OTHER_VARIABLES = Set.of(
            FILE_VARIABLE,
            AdvertisedAddress.VARIABLE,
            Setting.VARIABLE_PREFIX + "JAVA_OPTS",
            DEMO_TRY_VARIABLE,
            DEMO_EXAMPLES_VARIABLE,
            Setting.VARIABLE_PREFIX + "PAYLOAD",
            Setting.VARIABLE_PREFIX + "DOWNSTREAM_SHARE",
            Setting.VARIABLE_PREFIX + "HANDLER",
            Setting.VARIABLE_PREFIX + "EXIT_WITH_PARENT");

    /**
     * Variables that Kubernetes sets for each Service, if a pod has service links. Those of a
     * Service {@code lambda-dispatcher-workers} begin like settings.
     */
    private static final Pattern SERVICE_LINK =
            Pattern.compile(".*_SERVICE_HOST|.*_SERVICE_PORT(_.+)?|.*_PORT_\\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?");

    /** {@code LAMBDA_DISPATCHER_WORKERS_PORT} is a service link if it has a URL. */
    private static final Pattern SERVICE_URL = Pattern.compile("(tcp|udp|sctp)://.*");

    /** Settings whose texts are for other programs, in which {@code ${NAME}} has a meaning. */
    private static final Set<Setting<?>> MAY_NAME_VARIABLES =
            Set.of(Settings.LOCAL_COMMAND, Settings.LOCAL_JVM_FLAGS, Settings.LOCAL_ENVIRONMENT);

    /** The key in an entry of {@code routes} that names its function. */
    static final String ROUTE_FUNCTION = "function";

    /** Flags that are not settings. */
    private static final List<String> OTHER_FLAGS = List.of("--help", "--help-all", "--config");

    private final List<String> problems = new ArrayList<>();
    private SettingTable table = Settings.TABLE;
    private final Map<Setting<?>, RawValue> raw = new LinkedHashMap<>();
    private YamlFile file = YamlFile.empty();
    private @Nullable Path path;
    private final Map<Path, String> digests = new LinkedHashMap<>();

    /** Whether an entry of {@code functions} has an unknown name. */
    private boolean misspelt;

    /** Whether the filters that {@link Settings#FILTERS_PATH} names were not found. */
    private boolean withoutFilters;

    private ConfigurationLoader() {}

    /**
     * Reads and checks all settings of a dispatcher.
     *
     * @see #load(Map, Path, Map, Map, List, boolean, SettingTable)
     */
    public static Configuration load(
            Map<Setting<?>, String> defaults,
            @Nullable Path file,
            Map<String, String> environment,
            Map<String, String> flags,
            List<String> misplaced)
            throws ConfigurationException {
        return load(defaults, file, environment, flags, misplaced, true, null);
    }

    /**
     * Reads and checks all settings.
     *
     * @param defaults of the command; they replace the defaults of {@link Settings}
     * @param file {@code null} = the file that the environment names, or none
     * @param flags values by flag, such as {@code --public-plain-port}; all flags are known
     * @param misplaced unknown flags, and arguments that are not flags
     * @param serves whether the settings must suffice for a dispatcher; {@code false} = those that
     *     only a dispatcher needs may be missing
     * @param known the settings of a dispatcher that runs; {@code null} = those of the filters that
     *     {@link Settings#FILTERS_PATH} names are added
     * @throws ConfigurationException with every problem of every source
     */
    public static Configuration load(
            Map<Setting<?>, String> defaults,
            @Nullable Path file,
            Map<String, String> environment,
            Map<String, String> flags,
            List<String> misplaced,
            boolean serves,
            @Nullable SettingTable known)
            throws ConfigurationException {
        ConfigurationLoader loader = new ConfigurationLoader();
        loader.openFile(file, environment);
        loader.table = known != null ? known : loader.findSettings(environment, flags);
        loader.readDefaults(defaults);
        loader.readFile();
        loader.readEnvironment(environment);
        loader.readFlags(flags);
        misplaced.forEach(loader::readArgument);
        return loader.finish(serves);
    }

    /**
     * Returns the settings that exist, of the filters, too.
     *
     * @param file {@code null} = the file that the environment names, or none
     * @throws ConfigurationException if a filter cannot be loaded
     */
    public static SettingTable table(@Nullable Path file, Map<String, String> environment, Map<String, String> flags)
            throws ConfigurationException {
        ConfigurationLoader loader = new ConfigurationLoader();
        loader.openFile(file, environment);
        loader.problems.clear();
        SettingTable found = loader.findSettings(environment, flags);
        if (!loader.problems.isEmpty()) {
            throw new ConfigurationException(loader.problems);
        }
        return found;
    }

    /** Looks for filters before anything is read, because they say what can be set. */
    private SettingTable findSettings(Map<String, String> environment, Map<String, String> flags) {
        Setting<Path> directory = Settings.FILTERS_PATH;
        RawValue raw = file.values().get(directory.name());
        String text = flags.getOrDefault(directory.flag(), environment.get(directory.variable()));
        if (text != null) {
            raw = RawValue.of(text, "");
        }
        if (raw == null) {
            return table;
        }
        Path jars;
        try {
            jars = directory.type().parse(raw);
        } catch (IllegalArgumentException e) {
            // The value itself is checked like all others.
            withoutFilters = true;
            return table;
        }
        try {
            return FilterJars.load(jars, table);
        } catch (IllegalArgumentException e) {
            problems.add(PrintableText.ofFailure(e));
            return table;
        }
    }

    private void readDefaults(Map<Setting<?>, String> defaults) {
        defaults.forEach((setting, text) -> raw.put(setting, RawValue.of(text, SettingValues.DEFAULT)));
    }

    private void openFile(@Nullable Path flagged, Map<String, String> environment) {
        String named = environment.get(FILE_VARIABLE);
        if (flagged == null && named == null) {
            return;
        }
        path = flagged != null ? flagged : Path.of(named);
        digests.put(path, FileDigest.of(path.toString()));
        file = YamlFile.read(path, problems::add);
    }

    private void readFile() {
        file.values().forEach((name, value) -> {
            Setting<?> setting = table.byName().get(name);
            if (setting == null) {
                problems.add("unknown setting \"" + name + "\" (" + value.source() + ")" + hint(name));
            } else {
                raw.put(setting, value);
            }
        });
    }

    private String hint(String name) {
        return table.byName().keySet().stream()
                .filter(known -> known.startsWith(name + "."))
                .findFirst()
                .map(known -> ", it is a group of settings such as \"" + known + "\"")
                .orElseGet(() -> Nearest.suggestion(name, table.byName().keySet()));
    }

    private void readEnvironment(Map<String, String> environment) {
        new TreeMap<>(environment).forEach((variable, text) -> {
            Setting<?> setting = table.byVariable().get(variable);
            // No Service of the product is named like the setting of a filter.
            boolean ofFilter = setting != Settings.TABLE.byVariable().get(variable);
            if (!ofFilter && isServiceLink(variable, text)) {
                return;
            }
            if (setting != null) {
                raw.put(setting, RawValue.of(text, "environment variable " + variable));
            } else if (variable.startsWith(Setting.VARIABLE_PREFIX) && !OTHER_VARIABLES.contains(variable)) {
                problems.add("unknown environment variable \"" + variable + "\""
                        + Nearest.suggestion(variable, table.byVariable().keySet()));
            }
        });
    }

    private static boolean isServiceLink(String variable, String text) {
        return SERVICE_LINK.matcher(variable).matches()
                || variable.endsWith("_PORT") && SERVICE_URL.matcher(text).matches();
    }

    private void readFlags(Map<String, String> flags) {
        flags.forEach((flag, text) -> raw.put(table.byFlag().get(flag), RawValue.of(text, "flag " + flag)));
    }

    /** The command line does not know the flags of filters. */
    private void readArgument(String argument) {
        String[] parts = argument.split("=", 2);
        String flag = parts[0];
        Setting<?> ofFilter = table.byFlag().get(flag);
        if (ofFilter != null && parts.length == 2) {
            raw.put(ofFilter, RawValue.of(parts[1], "flag " + flag));
        } else if (ofFilter != null) {
            problems.add(flag + ": expected " + flag + "=" + ofFilter.type().label());
        } else if (argument.startsWith("-")) {
            List<String> known = new ArrayList<>(table.byFlag().keySet());
            known.addAll(OTHER_FLAGS);
            problems.add("unknown flag \"" + flag + "\"" + Nearest.suggestion(flag, known));
        } else {
            problems.add("unexpected argument \"" + argument + "\"");
        }
    }

    private Configuration finish(boolean serves) throws ConfigurationException {
        // Nothing is missing for sure if a name is misspelt or the file cannot be read.
        boolean complete = serves && problems.isEmpty();
        SettingValues values = new SettingValues(table);
        raw.forEach((setting, value) ->
                set(values, setting, value, value.equals(file.values().get(setting.name()))));
        List<SettingValues> functions = functions(values);
        List<SettingValues> routes = routes(functions);
        // A rule says nothing about the part of a file that could be read.
        if (file.isReadToEnd()) {
            ConfigurationChecks.check(values, functions, routes, complete && !misspelt, problems::add);
        }
        values.addFiles(digests);
        functions.forEach(function -> function.addFiles(digests));
        if (withoutFilters && problems.isEmpty()) {
            // The directory has appeared meanwhile. Without filters, a request may skip its check.
            problems.add(values.problem(Settings.FILTERS_PATH, "a directory whose filters are loaded"));
        }
        if (!problems.isEmpty()) {
            throw new ConfigurationException(problems, digests);
        }
        return new Configuration(values, functions, routes, path, digests);
    }

    private List<SettingValues> functions(SettingValues values) {
        if (file.functions().isEmpty()) {
            return List.of(values);
        }
        // It would be unclear which entry of the list a function's setting applies to.
        raw.keySet().stream()
                .filter(setting -> setting.isOfFunction() && !values.isDefault(setting))
                .map(setting -> values.problem(setting, "no value, because the settings file has a list of functions"))
                .forEach(problems::add);
        return IntStream.range(0, file.functions().size())
                .mapToObj(i -> function(i, file.functions().get(i)))
                .toList();
    }

    private List<SettingValues> routes(List<SettingValues> functions) {
        List<SettingValues> routes = new ArrayList<>();
        for (int i = 0; i < file.routes().size(); i++) {
            YamlFile.Entry entry = file.routes().get(i);
            SettingValues function = functionOf(i, entry, functions);
            if (function != null) {
                routes.add(route(i, entry, function));
            }
        }
        return routes;
    }

    /** Returns the function of a route; {@code null} if it has none, which is reported. */
    private @Nullable SettingValues functionOf(int index, YamlFile.Entry entry, List<SettingValues> functions) {
        RawValue name = entry.values().get(ROUTE_FUNCTION);
        if (name == null && functions.size() == 1) {
            return functions.get(0);
        }
        List<String> names = functions.stream()
                .map(function -> function.get(FunctionSettings.FUNCTION_NAME))
                .toList();
        int found = name == null ? -1 : names.indexOf(name.text());
        if (found < 0) {
            problems.add("routes[" + index + "].function: expected the name of one of the functions " + names
                    + (name == null
                            ? ", but it is not set (" + entry.source() + ")"
                            : ", got \"" + name.text() + "\" (" + name.source() + ")"));
            return null;
        }
        return functions.get(found);
    }

    private SettingValues route(int index, YamlFile.Entry entry, SettingValues function) {
        SettingValues values = SettingValues.ofRoute(index, function);
        List<String> known = table.byName().values().stream()
                .filter(Setting::ofRoutes)
                .map(Setting::lastName)
                .toList();
        entry.values().forEach((key, value) -> {
            Setting<?> setting = table.byName().get("function." + key);
            if (setting != null && setting.ofRoutes()) {
                set(values, setting, value, true);
            } else if (!key.equals(ROUTE_FUNCTION)) {
                boolean ofFunction = setting != null;
                problems.add(values.owner() + ": "
                        + (ofFunction ? "expected a setting that a route can have, got \"" : "unknown setting \"")
                        + key + "\" (" + value.source() + ")"
                        + (ofFunction ? "" : Nearest.suggestion(key, known)));
            }
        });
        return values;
    }

    private void set(SettingValues values, Setting<?> setting, RawValue value, boolean fromFile) {
        if (fromFile && value.namesVariable() && !MAY_NAME_VARIABLES.contains(setting)) {
            // The value may be a secret, so it is not shown.
            String instead = file.functions().isEmpty() || !setting.isOfFunction()
                    ? "Remove the line and set the environment variable " + setting.variable()
                    : "Write the value, or create the file from a template";
            values.refuse(
                    setting,
                    value,
                    "expected a value without ${...}, because the file is not a template. " + instead,
                    problems::add);
        } else {
            values.set(setting, value, problems::add);
        }
    }

    private SettingValues named(int index, @Nullable RawValue name) {
        if (name == null || name.namesVariable()) {
            return SettingValues.ofFunction(table, index);
        }
        try {
            return SettingValues.ofFunction(
                    table, FunctionSettings.FUNCTION_NAME.type().parse(name));
        } catch (IllegalArgumentException e) {
            return SettingValues.ofFunction(table, index);
        }
    }

    private SettingValues function(int index, YamlFile.Entry entry) {
        SettingValues values = named(index, entry.values().get(FunctionSettings.FUNCTION_NAME.lastName()));
        entry.values().forEach((key, value) -> {
            Setting<?> setting = table.byName().get("function." + key);
            if (setting == null) {
                List<String> known = table.byName().values().stream()
                        .filter(Setting::isOfFunction)
                        .map(Setting::lastName)
                        .toList();
                misspelt = true;
                problems.add(values.owner() + ": unknown setting \"" + key + "\" (" + value.source() + ")"
                        + Nearest.suggestion(key, known));
            } else {
                set(values, setting, value, true);
            }
        });
        if (values.isDefault(FunctionSettings.FUNCTION_NAME)) {
            values.markInvalid(FunctionSettings.FUNCTION_NAME);
            // An unknown setting may be the name, misspelt.
            if (entry.values().keySet().stream().allMatch(key -> table.byName().containsKey("function." + key))) {
                problems.add(values.owner() + ".name: expected "
                        + FunctionSettings.FUNCTION_NAME.type().expected() + ", but it is not set (" + entry.source()
                        + ")");
            }
        }
        return values;
    }
}
