package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.worker.handler.DrainReason;
import java.time.Duration;
import java.util.List;

/** Receives the events of a worker connection, on its event loop. */
interface ConnectionListener {
    /** The dispatcher has accepted the worker, and can send requests. */
    void onServing();

    /** The dispatcher has read that the worker is ready for requests. */
    void onReady();

    void onExchangeStarted();

    void onExchangeEnded(boolean failed, long requestBytes, long responseBytes);

    /**
     * The dispatcher has named the dispatchers that share this worker, itself first.
     *
     * @return {@code false} if it does so too often
     */
    boolean onPeers(List<String> addresses);

    /** The dispatcher drains this connection. */
    void onDrain(DrainReason reason, Duration grace);

    /** The channel is closed. This is the last call. */
    void onClosed(Closing closing);

    /**
     * How a connection ended.
     *
     * @param detail why it ended, for logs; made printable, because it can quote the peer
     */
    record Closing(Cause cause, String detail) {

        enum Cause {
            /** It ended after a drain. */
            DRAINED,
            /** The dispatcher asks the worker to try again. Nobody has to look at it. */
            NOT_NOW,
            /** A new attempt with the same token would fail in the same way. */
            REFUSED,
            /** Anything else, so a new attempt may succeed. */
            LOST
        }

        public Closing {
            detail = PrintableText.ofFailure(detail);
        }
    }
}
