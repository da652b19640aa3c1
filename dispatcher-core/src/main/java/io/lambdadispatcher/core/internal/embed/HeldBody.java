package io.lambdadispatcher.core.internal.embed;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.util.concurrent.Ticker;
import org.slf4j.LoggerFactory;

/**
 * Wraps one buffer of an embedding program and retains it once more. If the program releases its
 * buffer too early by mistake, the memory stays valid until it is sent, so no request is damaged.
 * The wrapper has its own indexes, and is released like any buffer.
 */
final class HeldBody extends CompositeByteBuf {
    private static final SeldomLog log = new SeldomLog(LoggerFactory.getLogger(HeldBody.class), Ticker.systemTicker());

    private final ByteBuf given;

    /** Takes ownership of the buffer. */
    HeldBody(ByteBuf given) {
        super(given.alloc(), given.isDirect(), 1, given.retain());
        this.given = given;
    }

    @Override
    protected void deallocate() {
        super.deallocate();
        if (given.refCnt() > 0) {
            given.release();
        } else {
            log.warn(
                    "the publisher of a request's body has released a buffer that it had given to onNext(), which owns it");
        }
    }
}
