package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.worker.ErrorCode;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What a worker stream needs of its connection. Event loop only. */
public interface StreamHost {
    CoalescingHttp2Handler http2();

    /** Returns whether new requests still go to the handler. */
    boolean admits();

    /** Returns the time until the connection must end; {@code null} if it does not drain. */
    @Nullable
    Duration drainGrace();

    /**
     * @return false if requests of other dispatchers use the worker, so this one must be refused
     *     with {@link #busyCode}
     */
    boolean onExchangeStarted();

    /** Returns the code of a refusal that says so, in the version that the dispatcher speaks. */
    ErrorCode busyCode();

    /**
     * @param admitted what {@link #onExchangeStarted} returned for it
     * @param failed whether the response did not end as the handler intended
     */
    void onExchangeEnded(boolean admitted, boolean failed, long requestBytes, long responseBytes);
}
