package io.lambdadispatcher.server.config;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Settings that have been checked, each with its source. Immutable. */
public final class Configuration {
    private static final int WIDEST_COLUMN = 40;

    private final Values values;
    private final List<Values> functions;

    Configuration(Values values, List<Values> functions) {
        this.values = values;
        this.functions = functions;
    }

    /** For settings that have a default. */
    public <T> T get(Setting<T> setting) {
        return values.get(setting);
    }

    /** @return {@code null} if it is not set */
    public <T> @Nullable T find(Setting<T> setting) {
        return values.find(setting);
    }

    public boolean isDefault(Setting<?> setting) {
        return values.isDefault(setting);
    }

    /** Returns a copy in which the setting has another default, and that value. */
    public Configuration withDefault(Setting<?> setting, String text) {
        return new Configuration(values.withDefault(setting, text), functions);
    }

    /** At least one. */
    public List<FunctionConfiguration> functions() {
        return functions.stream().map(FunctionConfiguration::of).toList();
    }

    /** Returns the effective settings in three columns: name, value and source. Secrets are not shown. */
    public String report() {
        List<String[]> lines = new ArrayList<>();
        values.forEach(false, (name, text, source) -> lines.add(new String[] {name, text, source}));
        functions.forEach(function ->
                function.forEach(true, (name, text, source) -> lines.add(new String[] {name, text, source})));
        String format = "%-" + width(lines, 0) + "s  %-" + Math.min(width(lines, 1), WIDEST_COLUMN) + "s  %s\n";
        StringBuilder report = new StringBuilder();
        lines.forEach(line -> report.append(String.format(format, (Object[]) line)));
        return report.toString();
    }

    private static int width(List<String[]> lines, int column) {
        return lines.stream().mapToInt(line -> line[column].length()).max().orElse(1);
    }
}
