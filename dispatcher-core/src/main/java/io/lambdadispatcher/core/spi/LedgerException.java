package io.lambdadispatcher.core.spi;

import org.jspecify.annotations.Nullable;

/**
 * Reports that a call of a {@link Ledger} has no result. The message is one line for logs. It says
 * what happened and what to do.
 */
public final class LedgerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LedgerException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
