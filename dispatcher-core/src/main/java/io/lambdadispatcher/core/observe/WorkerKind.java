package io.lambdadispatcher.core.observe;

import java.util.Locale;

/** Who has started a worker. Decided when it connects, and the same for all who ask. */
public enum WorkerKind {
    /** No dispatcher, so it has no deadline. It gets requests first. */
    BASE,
    /**
     * A dispatcher, to serve what exceeds the base: this one, another one of its fleet, or the one
     * before it.
     */
    LAUNCHED;

    private final String token = name().toLowerCase(Locale.ROOT);

    /** Returns the name in metrics and in the access log. */
    public String token() {
        return token;
    }
}
