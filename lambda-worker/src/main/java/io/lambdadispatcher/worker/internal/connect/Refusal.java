package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.internal.connect.ConnectionListener.Closing.Cause;
import org.jspecify.annotations.Nullable;

/**
 * Why a dispatcher does not accept a worker.
 *
 * @param cause {@link Cause#NOT_NOW}, {@link Cause#REFUSED} or {@link Cause#LOST}
 * @param detail what happened and what to check, for logs; not printable, because it can quote the
 *     peer
 */
record Refusal(Cause cause, String detail) {

    /**
     * Interprets the answer to the control stream.
     *
     * @param authority where the worker has connected
     * @param answered the status of the answer; {@code null} = it has none
     */
    static Refusal of(String authority, @Nullable CharSequence answered) {
        int status = StatusCode.parse(answered);
        boolean permanent = status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
        Cause cause = status == 425 ? Cause.NOT_NOW : permanent ? Cause.REFUSED : Cause.LOST;
        String reason = switch (status) {
            case 401 -> "the token is not valid. Check the worker's secret, and the clock";
            case 403 -> "it may not connect. Check the function's name. The dispatcher's log has the reason";
            case 425 -> "it has not yet read in the ledger of its fleet who has launched it";
            case 429 -> "it has too many connections";
            case 503 -> "it is shutting down";
            default -> null;
        };
        return new Refusal(
                cause,
                reason == null
                        ? authority + " answered with status " + answered
                                + ", which a worker port never does. Check that the address is a worker port of a dispatcher"
                        : "the dispatcher rejected the worker with status " + status + ": " + reason);
    }
}
