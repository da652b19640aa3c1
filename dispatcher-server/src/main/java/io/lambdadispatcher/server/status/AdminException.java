package io.lambdadispatcher.server.status;

import io.lambdadispatcher.wire.http.PrintableText;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the admin port of a dispatcher does not answer as expected. The message says where, why
 * and what to do, in one printable line.
 */
public final class AdminException extends Exception {
    private static final long serialVersionUID = 1;

    private final String reason;

    /** @param advice a sentence */
    AdminException(URI uri, String reason, String advice, @Nullable Throwable cause) {
        super(PrintableText.of(uri + ": " + reason + ". " + advice), cause);
        this.reason = reason;
    }

    /** Returns why, without a full stop. It may have any characters. */
    String reason() {
        return reason;
    }
}
