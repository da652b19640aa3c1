package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ShadowEnd;
import io.lambdadispatcher.core.observe.ShadowEnd.Result;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.LoggerFactory;

/**
 * What the event loops share of a function's copied requests: how many are in flight, and who is
 * told about their ends. Any thread.
 */
final class Shadows {
    private static final SeldomLog differences =
            new SeldomLog(LoggerFactory.getLogger(Shadows.class), Ticker.systemTicker());

    private final String function;
    private final DispatcherObserver observer;
    private final AtomicInteger inFlight = new AtomicInteger();

    Shadows(String function, DispatcherObserver observer) {
        this.function = function;
        this.observer = observer;
    }

    String function() {
        return function;
    }

    int inFlight() {
        return inFlight.get();
    }

    /** @return whether there may be another copy. If so, {@link #leave} must follow once */
    boolean tryEnter(int limit) {
        if (inFlight.incrementAndGet() > limit) {
            inFlight.decrementAndGet();
            return false;
        }
        return true;
    }

    void onSkipped(String shadow) {
        observer.onShadowEnd(new ShadowEnd(function, shadow, Result.SKIPPED, 0, 0, -1, -1));
    }

    /** A copy has ended. */
    void leave() {
        inFlight.decrementAndGet();
    }

    /** @param head headers of the request */
    void report(ShadowEnd end, Http2Headers head) {
        if (end.result() == Result.DIFFERENT) {
            CharSequence path = head.path();
            int query = AsciiString.indexOf(path, '?', 0);
            differences.warn(
                    "{} {}: function {} answered {}, its shadow {} answered {}",
                    head.method(),
                    path.subSequence(0, Math.min(query < 0 ? path.length() : query, 512)),
                    function,
                    end.status(),
                    end.shadow(),
                    end.shadowStatus());
        }
        observer.onShadowEnd(end);
    }
}
