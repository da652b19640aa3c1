package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.ChannelConfig;
import io.netty.channel.EventLoop;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.UncheckedBooleanSupplier;
import java.util.concurrent.TimeUnit;

/**
 * Limits how much is read from one client before the next socket of the event loop has its turn. In
 * a short turn of the event loop, a client's socket is read up to four times, up to 64 KiB each.
 * When the reads of a turn have taken five milliseconds, each remaining client is read once, up to
 * 16 KiB. Otherwise, hundreds of clients that send as fast as they can would delay a small request
 * by a second. Bytes that were not read stay in the kernel until the next turn, because the
 * transports are level-triggered.
 *
 * <p><b>Threading.</b> One event loop.
 */
final class FairReads implements RecvByteBufAllocator, Runnable {
    static final long LONG_TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    static final int SMALL_READ_BYTES = 16 * 1024;

    private static final RecvByteBufAllocator READS = new AdaptiveRecvByteBufAllocator().maxMessagesPerRead(4);

    private final EventLoop loop;
    private boolean turnKnown;
    private long turnBegunNanos;

    FairReads(EventLoop loop) {
        this.loop = loop;
    }

    @Override
    @SuppressWarnings("deprecation") // It is the interface's only method, so it must be implemented.
    public RecvByteBufAllocator.Handle newHandle() {
        return new ClientHandle((ExtendedHandle) READS.newHandle());
    }

    /** Runs after the reads of a turn, so the next read belongs to the next turn. */
    @Override
    public void run() {
        turnKnown = false;
    }

    private boolean isLongTurn() {
        long now = loop.ticker().nanoTime();
        if (turnKnown) {
            return now - turnBegunNanos > LONG_TURN_NANOS;
        }
        turnKnown = true;
        turnBegunNanos = now;
        loop.execute(this);
        return false;
    }

    /**
     * The handle of one connection. It knows at the start of its reads whether the turn is long.
     */
    private final class ClientHandle extends DelegatingHandle implements ExtendedHandle {
        private final ExtendedHandle handle;
        private boolean once;

        ClientHandle(ExtendedHandle handle) {
            super(handle);
            this.handle = handle;
        }

        @Override
        public void reset(ChannelConfig config) {
            super.reset(config);
            once = isLongTurn();
        }

        @Override
        public int guess() {
            return once ? Math.min(super.guess(), SMALL_READ_BYTES) : super.guess();
        }

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
            return allocator.ioBuffer(guess());
        }

        @Override
        public boolean continueReading() {
            return !once && super.continueReading();
        }

        @Override
        public boolean continueReading(UncheckedBooleanSupplier maybeMoreData) {
            return !once && handle.continueReading(maybeMoreData);
        }
    }
}
