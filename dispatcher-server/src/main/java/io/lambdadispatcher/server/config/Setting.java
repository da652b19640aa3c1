package io.lambdadispatcher.server.config;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One line of the table of settings. Immutable.
 *
 * @param name as in the file, dotted: {@code public.plain.port}
 * @param defaultText {@code null} = unset by default
 * @param secret its value is never shown
 * @param doc one sentence, without a full stop
 */
public record Setting<T>(
        String name, ValueType<T> type, @Nullable String defaultText, boolean secret, String doc) {
    public static final String VARIABLE_PREFIX = "LAMBDA_DISPATCHER_";

    static <T> Setting<T> of(String name, ValueType<T> type, String defaultText, String doc) {
        return new Setting<>(name, type, defaultText, false, doc);
    }

    static <T> Setting<T> optional(String name, ValueType<T> type, String doc) {
        return new Setting<>(name, type, null, false, doc);
    }

    static <T> Setting<T> secret(String name, ValueType<T> type, String doc) {
        return new Setting<>(name, type, null, true, doc);
    }

    /** {@code --public-plain-port}. */
    public String flag() {
        return "--" + name.replace('.', '-');
    }

    /** {@code LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT}. */
    public String variable() {
        return VARIABLE_PREFIX + name.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    /** {@code port} of {@code public.plain.port}; the key inside an entry of {@code functions}. */
    String lastName() {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    String show(String text) {
        return secret ? "(secret)" : text;
    }
}
