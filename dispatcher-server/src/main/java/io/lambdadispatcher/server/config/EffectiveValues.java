package io.lambdadispatcher.server.config;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What each setting of a part of the table came out as. */
final class EffectiveValues {
    private final Map<Setting<?>, Effective<?>> values = new LinkedHashMap<>();

    EffectiveValues(List<Setting<?>> settings) {
        settings.forEach(setting -> values.put(setting, Effective.byDefault(setting)));
    }

    private EffectiveValues(Map<Setting<?>, Effective<?>> values) {
        this.values.putAll(values);
    }

    EffectiveValues copy() {
        return new EffectiveValues(values);
    }

    void put(Effective<?> effective) {
        values.put(effective.setting(), effective);
    }

    Iterable<Effective<?>> all() {
        return values.values();
    }

    @SuppressWarnings("unchecked") // put() keeps setting and value of one type.
    <T> Effective<T> effective(Setting<T> setting) {
        return (Effective<T>) Objects.requireNonNull(values.get(setting), setting.name());
    }

    <T> @Nullable T find(Setting<T> setting) {
        return effective(setting).value();
    }

    /** For settings that have a default. */
    <T> T get(Setting<T> setting) {
        return Objects.requireNonNull(find(setting), setting.name());
    }
}
