package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What a worker stream needs of its connection. Event loop only. */
public interface StreamHost {
    CoalescingHttp2Handler http2();

    /** New requests still go to the handler. */
    boolean admits();

    /** What is left until the connection must end; {@code null} while it does not drain. */
    @Nullable
    Duration drainGrace();

    void onExchangeStarted();

    /** @param failed the response did not end as the handler meant it to */
    void onExchangeEnded(boolean failed, long requestBytes, long responseBytes);
}
