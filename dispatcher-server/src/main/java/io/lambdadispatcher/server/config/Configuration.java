package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.TlsOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Settings that have been checked, each with its source. Immutable. */
public final class Configuration {
    private static final int WIDEST_COLUMN = 40;

    private final SettingValues values;
    private final List<SettingValues> functions;
    private final List<SettingValues> routes;
    private final @Nullable Path file;
    private final Map<Path, String> digests;

    /** @param digests of the files that have been read */
    Configuration(
            SettingValues values,
            List<SettingValues> functions,
            List<SettingValues> routes,
            @Nullable Path file,
            Map<Path, String> digests) {
        this.values = values;
        this.functions = functions;
        this.routes = routes;
        this.file = file;
        this.digests = Map.copyOf(digests);
    }

    /** Returns the settings file; {@code null} if there is none. */
    public @Nullable Path file() {
        return file;
    }

    /** Returns the settings that have values here. */
    public SettingTable table() {
        return values.table();
    }

    /** Returns the value of a setting that has a default. */
    public <T> T get(Setting<T> setting) {
        return values.get(setting);
    }

    /** Returns {@code null} if the setting is not set. */
    public <T> @Nullable T find(Setting<T> setting) {
        return values.find(setting);
    }

    /** Returns the certificates of the public TLS port; {@code null} = none are set. */
    public @Nullable TlsOptions publicTls() {
        TlsOptions tls = tls(
                values,
                Settings.PUBLIC_TLS_CERTIFICATE,
                Settings.PUBLIC_TLS_KEY,
                Settings.PUBLIC_TLS_CLIENT_CERTIFICATES);
        return tls == null ? null : tls.withProfile(values.get(Settings.PUBLIC_TLS_PROFILE));
    }

    /** Returns the certificates of the worker port; {@code null} = it has none. */
    public @Nullable TlsOptions workerTls() {
        return tls(
                values,
                Settings.WORKERS_TLS_CERTIFICATE,
                Settings.WORKERS_TLS_KEY,
                Settings.WORKERS_TLS_CLIENT_CERTIFICATES);
    }

    /** Returns whether the worker port has no TLS. */
    public boolean hasPlainWorkers() {
        return isOff(values, Settings.WORKERS_TLS_CERTIFICATE);
    }

    /** Returns the certificate of the admin port; {@code null} = none is set. */
    public @Nullable TlsOptions adminTls() {
        return tls(values, Settings.ADMIN_TLS_CERTIFICATE, Settings.ADMIN_TLS_KEY, null);
    }

    /** Returns the file of a fleet; {@code null} = it has a table, or there is no fleet. */
    public @Nullable Path fleetFile() {
        return fleetFile(values);
    }

    /** A slash cannot begin the name of a table. */
    static @Nullable Path fleetFile(SettingValues values) {
        String table = values.find(Settings.FLEET_TABLE);
        return table == null || !table.startsWith("/") ? null : Path.of(table);
    }

    public boolean isDefault(Setting<?> setting) {
        return values.isDefault(setting);
    }

    /** Returns a copy in which the setting has this default and this value. */
    public Configuration withDefault(Setting<?> setting, String text) {
        return new Configuration(values.withDefault(setting, text), functions, routes, file, digests);
    }

    /** Returns a copy whose ports listen on loopback, except those with an address. */
    public Configuration onLoopback() {
        return new Configuration(values.onLoopback(), functions, routes, file, digests);
    }

    /**
     * Returns a copy with values that commands have set.
     *
     * @throws ConfigurationException if a value is not valid, or contradicts the others
     */
    Configuration withCommanded(Map<CommandedValues.Key, String> texts) throws ConfigurationException {
        List<String> problems = new ArrayList<>();
        SettingValues next = values;
        List<SettingValues> nextFunctions = new ArrayList<>(functions);
        List<SettingValues> nextRoutes = new ArrayList<>(routes);
        for (Map.Entry<CommandedValues.Key, String> each : texts.entrySet()) {
            CommandedValues.Key key = each.getKey();
            if (key.function() == null) {
                next = next.withCommanded(key.setting(), each.getValue(), problems::add);
            } else {
                nextFunctions.replaceAll(
                        function -> function.get(FunctionSettings.FUNCTION_NAME).equals(key.function())
                                ? function.withCommanded(key.setting(), each.getValue(), problems::add)
                                : function);
                // The weight of a route is that of its function.
                nextRoutes.replaceAll(
                        route -> route.get(FunctionSettings.FUNCTION_NAME).equals(key.function())
                                ? route.withCommanded(key.setting(), each.getValue(), problem -> {})
                                : route);
            }
        }
        if (problems.isEmpty()) {
            ConfigurationChecks.check(next, nextFunctions, nextRoutes, true, problems::add);
        }
        if (!problems.isEmpty()) {
            throw new ConfigurationException(problems);
        }
        return new Configuration(next, nextFunctions, nextRoutes, file, digests);
    }

    /**
     * Returns whether a setting is the same in both configurations.
     *
     * @param function name of a function that both have; {@code null} = a setting of the dispatcher
     */
    boolean hasSame(@Nullable String function, Setting<?> setting, Configuration other) {
        return function == null
                ? values.hasSame(setting, other.values)
                : function(function).hasSame(setting, other.function(function));
    }

    private SettingValues function(String name) {
        return functions.stream()
                .filter(function -> function.get(FunctionSettings.FUNCTION_NAME).equals(name))
                .findAny()
                .orElseThrow();
    }

    /**
     * A configuration that a reload puts in force.
     *
     * @param next the configuration
     * @param changes a line for each setting that changes: {@code function.weight: 90 -> 10}
     * @param restarts a line for each setting that keeps its value until a restart
     */
    public record Reload(Configuration next, List<String> changes, List<String> restarts) {}

    /**
     * Returns what a reload of this configuration puts in force. Settings that cannot change while
     * the dispatcher runs keep their values. The result has been checked
     * as at startup.
     *
     * @param start the configuration that the dispatcher was started with
     * @param running the configuration that is in force
     * @throws ConfigurationException if settings of this configuration contradict those that cannot
     *     change
     */
    public Reload reload(Configuration start, Configuration running) throws ConfigurationException {
        List<String> changes = new ArrayList<>();
        List<String> restarts = new ArrayList<>();
        SettingValues next = values.asReloaded(start.values, running.values, false, restarts::add);
        List<SettingValues> nextFunctions = new ArrayList<>();
        for (SettingValues known : start.functions) {
            SettingValues changed = find(functions, known);
            if (changed == null) {
                restarts.add("function " + known.get(FunctionSettings.FUNCTION_NAME) + ": removed");
            }
            SettingValues inForce = Objects.requireNonNull(find(running.functions, known));
            nextFunctions.add(changed == null ? inForce : changed.asReloaded(known, inForce, true, restarts::add));
        }
        functions.stream()
                .filter(function -> find(start.functions, function) == null)
                .forEach(added -> restarts.add("function " + added.get(FunctionSettings.FUNCTION_NAME) + ": added"));
        List<SettingValues> nextRoutes = new ArrayList<>();
        for (SettingValues route : routes) {
            if (find(start.functions, route) == null) {
                restarts.add(route.owner() + ": added");
            } else {
                nextRoutes.add(route);
            }
        }
        // A function that is removed serves until a restart, and so do its routes.
        for (int i = 0; i < running.routes.size(); i++) {
            SettingValues route = running.routes.get(i);
            if (find(functions, route) == null) {
                nextRoutes.add(Math.min(i, nextRoutes.size()), route);
            }
        }
        List<String> problems = new ArrayList<>();
        ConfigurationChecks.check(next, nextFunctions, nextRoutes, true, problems::add);
        if (!problems.isEmpty()) {
            problems.addAll(restarts.stream()
                    .map(restart -> "needs a restart: " + restart)
                    .toList());
            throw new ConfigurationException(problems);
        }
        next.differences(running.values, false, changes::add);
        nextFunctions.forEach(function ->
                function.differences(Objects.requireNonNull(find(running.functions, function)), true, changes::add));
        Configuration reloaded = new Configuration(next, nextFunctions, nextRoutes, file, digests);
        for (int i = 0; i < Math.max(nextRoutes.size(), running.routes.size()); i++) {
            String from = running.describeRoute(i);
            String to = reloaded.describeRoute(i);
            if (!from.equals(to)) {
                changes.add("routes[" + i + "]: " + from + " -> " + to);
            }
        }
        return new Reload(reloaded, changes, restarts);
    }

    /** Returns what an entry of {@code routes} sets, or "-" if there is no such entry. */
    private String describeRoute(int index) {
        return index >= routes.size()
                ? "-"
                : rowsOf(routes.get(index))
                        .map(row -> row.name().substring(row.name().indexOf('.') + 1) + " " + row.value())
                        .collect(Collectors.joining(", "));
    }

    private Stream<Row> rowsOf(SettingValues route) {
        return route.rowsOfRoute(Objects.requireNonNull(find(functions, route)));
    }

    /** Returns the function with the same name; {@code null} = there is none. */
    private static @Nullable SettingValues find(List<SettingValues> functions, SettingValues wanted) {
        return functions.stream()
                .filter(function ->
                        function.get(FunctionSettings.FUNCTION_NAME).equals(wanted.get(FunctionSettings.FUNCTION_NAME)))
                .findAny()
                .orElse(null);
    }

    /** Returns the digest of each file, as it is now. */
    public static Map<Path, String> currentDigests(Set<Path> files) {
        Map<Path, String> current = new HashMap<>();
        files.forEach(each -> current.put(each, FileDigest.of(each.toString())));
        return current;
    }

    /**
     * Returns the digest of each file that was read for this configuration, as it was when this
     * configuration was loaded.
     */
    public Map<Path, String> digests() {
        return digests;
    }

    /** Returns the settings file, and each file that a setting in force names. */
    public Set<Path> files() {
        Map<Path, String> files = new HashMap<>(digests);
        values.addFiles(files);
        functions.forEach(function -> function.addFiles(files));
        return files.keySet();
    }

    /** Returns the configured functions, at least one. */
    public List<FunctionConfiguration> functions() {
        return functions.stream()
                .map(function -> FunctionConfiguration.of(
                        function,
                        routes.stream()
                                .filter(route -> find(List.of(function), route) != null)
                                .toList()))
                .toList();
    }

    /** Returns the functions that share their route with another one. */
    public List<FunctionConfiguration> sharingRoutes() {
        List<FunctionConfiguration> all = functions();
        Map<Route, Long> functionsByRoute = all.stream()
                .collect(Collectors.groupingBy(each -> each.route().withoutWeight(), Collectors.counting()));
        return all.stream()
                .filter(each -> functionsByRoute.getOrDefault(each.route().withoutWeight(), 0L) > 1)
                .toList();
    }

    /**
     * One setting.
     *
     * @param value as it may be shown: secrets and the values in {@code local.environment} are
     *     masked, and "-" is no value
     * @param source what has set it, for example a line of the file
     */
    public record Row(String name, String value, String source) {}

    /** Returns all settings. */
    public List<Row> rows() {
        return Stream.of(
                        values.rows(false),
                        functions.stream().flatMap(f -> f.rows(true)),
                        routes.stream().flatMap(this::rowsOf))
                .flatMap(rows -> rows)
                .toList();
    }

    /** Returns all settings in three columns: name, value and source. Secrets are not shown. */
    public String report() {
        List<Row> rows = rows();
        String format =
                "%-" + width(rows, Row::name) + "s  %-" + Math.min(width(rows, Row::value), WIDEST_COLUMN) + "s  %s\n";
        return rows.stream()
                .map(row -> String.format(format, row.name(), row.value(), row.source()))
                .collect(Collectors.joining());
    }

    private static int width(List<Row> rows, Function<Row, String> column) {
        return rows.stream().mapToInt(row -> column.apply(row).length()).max().orElse(1);
    }

    /** Returns the certificates and the key of a port; {@code null} = they are not set. */
    static @Nullable TlsOptions tls(
            SettingValues values, Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients) {
        Path chain = values.find(certificate);
        Path privateKey = values.find(key);
        if (chain == null || privateKey == null || isOff(values, certificate)) {
            return null;
        }
        Path authorities = clients == null ? null : values.find(clients);
        TlsOptions tls = TlsOptions.of(chain, privateKey);
        return authorities == null ? tls : tls.withClientCertificates(authorities);
    }

    static boolean isOff(SettingValues values, Setting<Path> certificate) {
        return ValueType.OFF.equals(values.find(certificate));
    }
}
