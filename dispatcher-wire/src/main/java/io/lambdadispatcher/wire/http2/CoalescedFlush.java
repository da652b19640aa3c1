package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandler;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.ArrayDeque;

/**
 * One flush for all that is written to a channel in one turn of its event loop: sockets are read
 * first, then tasks run, and one task flushes all channels that have asked. Confined to the
 * channel's event loop; one per channel.
 */
public final class CoalescedFlush {
    private final ChannelOutboundHandler handler;
    private final ChannelHandlerContext ctx;
    private final LoopFlushes flushes;
    private boolean scheduled;

    /**
     * @param handler whose {@code flush} is called with its own {@code ctx}; for HTTP/2 this moves
     *     flow-controlled frames first
     */
    public CoalescedFlush(ChannelOutboundHandler handler, ChannelHandlerContext ctx) {
        this.handler = handler;
        this.ctx = ctx;
        this.flushes = LoopFlushes.of(ctx.executor());
    }

    /** Flushes soon. Cheap when a flush is already on its way. */
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

    /**
     * Those of one event loop, which therefore puts one task into its queue and not one for each
     * channel.
     */
    private static final class LoopFlushes implements Runnable {
        private static final FastThreadLocal<LoopFlushes> OF_THREAD = new FastThreadLocal<>();

        private final EventExecutor loop;
        private final ArrayDeque<CoalescedFlush> waiting = new ArrayDeque<>();

        private LoopFlushes(EventExecutor loop) {
            this.loop = loop;
        }

        /** Called on the loop's thread. */
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
            // What asks again meanwhile is for the next task: the loop looks at its sockets in
            // between when this takes long.
            for (int left = waiting.size(); left > 1; left--) {
                waiting.remove().flush();
            }
            flushLast();
        }

        /** It leaves the queue last, for the one who finds it empty calls for a task. */
        private void flushLast() {
            CoalescedFlush last = waiting.remove();
            if (!waiting.isEmpty()) {
                loop.execute(this);
            }
            last.flush();
        }
    }
}
