package io.lambdadispatcher.server.config;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One line of the table of settings. Immutable.
 *
 * @param name as in the file, dotted: {@code public.plain.port}
 * @param defaultText {@code null} = unset by default
 * @param doc whole sentences for {@code --help} and the docs
 */
public record Setting<T>(
        String name, ValueType<T> type, @Nullable String defaultText, String doc) {
    public static final String VARIABLE_PREFIX = "LAMBDA_DISPATCHER_";

    /** {@code --public-plain-port}. */
    public String flag() {
        return "--" + name.replace('.', '-');
    }

    /** {@code LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT}. */
    public String variable() {
        return VARIABLE_PREFIX + name.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    /** Whether each function has a value of its own. */
    boolean isOfFunction() {
        return name.startsWith("function.");
    }

    /** {@code port} of {@code public.plain.port}; the key inside an entry of {@code functions}. */
    String lastName() {
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
