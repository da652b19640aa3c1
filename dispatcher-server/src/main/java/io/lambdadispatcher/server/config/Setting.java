package io.lambdadispatcher.server.config;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The definition of one setting. Immutable.
 *
 * @param name dotted, as in the file: {@code public.plain.port}
 * @param defaultText {@code null} = unset by default
 * @param ofRoutes whether each route of a function can have its own value
 * @param reloads whether a reload can change it
 * @param doc complete sentences for {@code --help-all} and the docs
 */
public record Setting<T>(
        String name, ValueType<T> type, @Nullable String defaultText, boolean ofRoutes, boolean reloads, String doc) {
    public static final String VARIABLE_PREFIX = "LAMBDA_DISPATCHER_";

    /** Returns the flag, such as {@code --public-plain-port}. */
    public String flag() {
        return "--" + name.replace('.', '-');
    }

    /** Returns the environment variable, such as {@code LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT}. */
    public String variable() {
        return VARIABLE_PREFIX + name.toUpperCase(Locale.ROOT).replace('.', '_').replace('-', '_');
    }

    /** Returns whether each function has its own value. */
    boolean isOfFunction() {
        return name.startsWith("function.");
    }

    /**
     * Returns the key inside an entry of {@code functions}: {@code path} of {@code function.path}.
     */
    String lastName() {
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
