package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.wire.http.PrintableText;
import org.jspecify.annotations.Nullable;

/**
 * Reports that a call of a {@link Ledger} has no result. The message is one line for logs. It says
 * what happened and what to do. Its control characters are escaped, and the middle of a very long
 * message is left out.
 */
public final class LedgerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public LedgerException(String message, @Nullable Throwable cause) {
        super(PrintableText.ofFailure(message), cause);
    }
}
