package io.lambdadispatcher.server.config;

import org.jspecify.annotations.Nullable;

/**
 * A setting's value, and where it came from.
 *
 * @param value {@code null} = unset
 * @param text as it was written; {@code null} = unset
 */
record Effective<T>(
        Setting<T> setting, @Nullable T value, @Nullable String text, Source source) {
    static <T> Effective<T> parse(Setting<T> setting, RawValue raw) {
        return new Effective<>(setting, setting.type().parse(raw), raw.text(), raw.source());
    }

    static <T> Effective<T> unset(Setting<T> setting) {
        return new Effective<>(setting, null, null, Source.DEFAULT);
    }

    static <T> Effective<T> byDefault(Setting<T> setting) {
        return setting.defaultText() == null
                ? unset(setting)
                : parse(setting, RawValue.of(setting.defaultText(), Source.DEFAULT));
    }
}
