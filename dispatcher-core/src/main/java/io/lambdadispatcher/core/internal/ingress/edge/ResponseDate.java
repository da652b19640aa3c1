package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.handler.codec.DateFormatter;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The value of the header {@code date} (RFC 9110 section 6.6.1) for the responses of an event loop.
 * It is formatted when a second begins, so a response neither reads a clock nor creates an object.
 * The timer runs only while there are responses. Event loop only.
 */
public final class ResponseDate implements Runnable {
    private static final long SECOND_MILLIS = TimeUnit.SECONDS.toMillis(1);
    private static final FastThreadLocal<ResponseDate> OF_THREAD = new FastThreadLocal<>();

    private final EventExecutor loop;
    private final LongSupplier clockMillis;

    /** {@code null} = the timer does not run. */
    private @Nullable AsciiString value;

    private boolean used;

    /** @param clockMillis returns the milliseconds since 1970 */
    ResponseDate(EventExecutor loop, LongSupplier clockMillis) {
        this.loop = loop;
        this.clockMillis = clockMillis;
    }

    /** Returns the date of an event loop. Called on that event loop. */
    public static ResponseDate of(EventExecutor loop) {
        ResponseDate known = OF_THREAD.get();
        if (known == null || known.loop != loop) {
            known = new ResponseDate(loop, System::currentTimeMillis);
            OF_THREAD.set(known);
        }
        return known;
    }

    /** Returns the current time as an IMF-fixdate: {@code Sun, 06 Nov 1994 08:49:37 GMT}. */
    AsciiString value() {
        AsciiString current = value;
        if (current == null) {
            current = begin();
        }
        used = true;
        return current;
    }

    /** Formats the current second, and sets the timer for the next one. */
    private AsciiString begin() {
        long now = clockMillis.getAsLong();
        AsciiString current = AsciiString.of(DateFormatter.format(new Date(now)));
        value = current;
        loop.schedule(this, SECOND_MILLIS - now % SECOND_MILLIS, TimeUnit.MILLISECONDS);
        return current;
    }

    @Override
    public void run() {
        if (used) {
            used = false;
            begin();
        } else {
            value = null;
        }
    }
}
