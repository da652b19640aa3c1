package io.lambdadispatcher.core.internal.embed;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.util.concurrent.Ticker;
import org.slf4j.LoggerFactory;

/**
 * One buffer of an embedding program, held once more than it was given: if the program releases it
 * too early, its memory stays until we have sent it, and neither this request nor another one is
 * harmed. Its indexes are our own. Released as any buffer.
 */
final class HeldBody extends CompositeByteBuf {
    private static final SeldomLog log = new SeldomLog(LoggerFactory.getLogger(HeldBody.class), Ticker.systemTicker());

    private final ByteBuf given;

    /** Takes the buffer. */
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
