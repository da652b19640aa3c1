package io.lambdadispatcher.server.config;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Settings that have been checked, each with its source. Immutable. */
public final class Configuration {
    private final EffectiveValues values;
    private final Map<String, EffectiveValues> functions;

    /** @param functions by their place in names of settings: {@code function} or {@code functions[0]} */
    Configuration(EffectiveValues values, Map<String, EffectiveValues> functions) {
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

    /** Nobody has chosen it: it is the default. */
    public boolean isDefault(Setting<?> setting) {
        return values.effective(setting).source().kind() == Source.Kind.DEFAULT;
    }

    /** The same with another value, as if it had been the default. */
    public <T> Configuration withDefault(Setting<T> setting, String text) {
        EffectiveValues changed = values.copy();
        changed.put(Effective.parse(setting, RawValue.of(text, Source.DEFAULT)));
        return new Configuration(changed, functions);
    }

    /** At least one. */
    public List<FunctionConfiguration> functions() {
        return functions.values().stream().map(FunctionConfiguration::of).toList();
    }

    /** The effective settings with their sources, one a line, secrets masked. */
    public String report() {
        return ConfigurationReport.of(values, functions);
    }

    EffectiveValues values() {
        return values;
    }

    Map<String, EffectiveValues> functionValues() {
        return functions;
    }
}
