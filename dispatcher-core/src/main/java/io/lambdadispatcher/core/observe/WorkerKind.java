package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** Who has started a worker. */
public enum WorkerKind {
    /** Nobody of the dispatchers: it launched itself. It gets requests first. */
    BASE,
    /** A dispatcher, to serve what exceeds the base. */
    LAUNCHED;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in metrics and in the access log. */
    public String token() {
        return token;
    }
}
