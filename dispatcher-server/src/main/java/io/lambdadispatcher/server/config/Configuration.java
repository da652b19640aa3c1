package io.lambdadispatcher.server.config;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Settings that have been checked, each with its source. Immutable. */
public final class Configuration {
    private static final int WIDEST_COLUMN = 40;

    private final SettingValues values;
    private final List<SettingValues> functions;
    private final @Nullable Path file;

    Configuration(SettingValues values, List<SettingValues> functions, @Nullable Path file) {
        this.values = values;
        this.functions = functions;
        this.file = file;
    }

    /** Returns the settings file; {@code null} if there is none. */
    public @Nullable Path file() {
        return file;
    }

    /** Returns the value of a setting that has a default. */
    public <T> T get(Setting<T> setting) {
        return values.get(setting);
    }

    /** Returns {@code null} if the setting is not set. */
    public <T> @Nullable T find(Setting<T> setting) {
        return values.find(setting);
    }

    /** Returns the value of the first setting that is set; {@code null} if neither is. */
    public <T> @Nullable T find(Setting<T> setting, Setting<T> other) {
        return values.find(setting, other);
    }

    public boolean isDefault(Setting<?> setting) {
        return values.isDefault(setting);
    }

    /** Returns a copy in which the setting has this default and this value. */
    public Configuration withDefault(Setting<?> setting, String text) {
        return new Configuration(values.withDefault(setting, text), functions, file);
    }

    /** Returns the configured functions, at least one. */
    public List<FunctionConfiguration> functions() {
        return functions.stream().map(FunctionConfiguration::of).toList();
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
        return Stream.concat(values.rows(false), functions.stream().flatMap(f -> f.rows(true)))
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
}
