package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandler;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.ArrayDeque;

/**
 * Flushes a channel once for all writes in one turn of its event loop. Sockets are read first, then
 * tasks run, and one task flushes all channels that have asked. There is one object for each
 * channel. Confined to its event loop.
 */
public final class CoalescedFlush {
    private final ChannelOutboundHandler handler;
    private final ChannelHandlerContext ctx;
    private final LoopFlushes flushes;
    private boolean scheduled;

    /**
     * @param handler its {@code flush} is called with its own {@code ctx}; for HTTP/2, this writes
     *     flow-controlled frames first
     */
    public CoalescedFlush(ChannelOutboundHandler handler, ChannelHandlerContext ctx) {
        this.handler = handler;
        this.ctx = ctx;
        this.flushes = LoopFlushes.of(ctx.executor());
    }

    /** Flushes at the end of the turn. Further calls in the same turn cost little. */
    public void request() {
        if (!scheduled) {
            scheduled = true;
            flushes.add(this);
        }
    }

    private void flush() {
        scheduled = false;
        try {
            handler.flush(ctx);
        } catch (Throwable e) {
            ctx.fireExceptionCaught(e);
        }
    }

    /** The channels of one event loop that have asked for a flush. They share one task. */
    private static final class LoopFlushes implements Runnable {
        private static final FastThreadLocal<LoopFlushes> OF_THREAD = new FastThreadLocal<>();

        private final EventExecutor loop;
        private final ArrayDeque<CoalescedFlush> waiting = new ArrayDeque<>();

        private LoopFlushes(EventExecutor loop) {
            this.loop = loop;
        }

        /** Returns the object of an event loop. Called on that event loop. */
        static LoopFlushes of(EventExecutor loop) {
            LoopFlushes known = OF_THREAD.get();
            if (known == null || known.loop != loop) {
                known = new LoopFlushes(loop);
                OF_THREAD.set(known);
            }
            return known;
        }

        void add(CoalescedFlush flush) {
            waiting.add(flush);
            if (waiting.size() == 1) {
                loop.execute(this);
            }
        }

        @Override
        public void run() {
            // Channels that ask again meanwhile are flushed by the next task, so that the event
            // loop reads its sockets in between.
            for (int left = waiting.size(); left > 1; left--) {
                waiting.remove().flush();
            }
            flushLast();
        }

        /**
         * Removes the last channel after its flush, because the caller that finds the queue empty
         * schedules a task.
         */
        private void flushLast() {
            CoalescedFlush last = waiting.remove();
            if (!waiting.isEmpty()) {
                loop.execute(this);
            }
            last.flush();
        }
    }
}
