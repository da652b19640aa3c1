package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
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

    void onExchangeStarted();

    /** @param failed whether the response did not end as the handler intended */
    void onExchangeEnded(boolean failed, long requestBytes, long responseBytes);
}
