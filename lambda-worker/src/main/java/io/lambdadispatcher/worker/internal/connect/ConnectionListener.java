package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.worker.handler.DrainReason;
import java.time.Duration;

/** What a worker connection tells its keeper. On the connection's event loop. */
interface ConnectionListener {
    /** Readiness has been sent: requests may come. */
    void onReady();

    void onExchangeStarted();

    void onExchangeEnded(boolean failed, long requestBytes, long responseBytes);

    /** The dispatcher drains this connection. */
    void onDrain(DrainReason reason, Duration grace);

    /** The channel is gone; the last call. */
    void onClosed(Closing closing);

    /**
     * How a connection ended.
     *
     * @param refusal the status with which the dispatcher refused the control stream; 0 = it did
     *     not
     * @param drained it ended as agreed, after a drain
     */
    record Closing(int refusal, boolean drained, String detail) {
        /** Trying again with the same token would end the same way. */
        boolean isPermanent() {
            return refusal >= 400 && refusal < 500 && refusal != 429 && refusal != 408;
        }
    }
}
