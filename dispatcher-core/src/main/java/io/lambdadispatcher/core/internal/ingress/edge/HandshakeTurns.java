package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.net.SocketAddress;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Limits the time of an event loop that TLS handshakes take, because a signature costs as much as
 * many requests. Together, they take at most a third of it, and at most 10 ms more after a time
 * with fewer. Further bytes of handshakes wait. Addresses whose handshakes wait take turns, and the
 * oldest handshake of an address is its next.
 *
 * <p>The time is measured, because the cost depends on the processor, the certificate and the TLS
 * provider. There is no limit per address: behind a load balancer that passes TLS on, all clients
 * can have one address.
 *
 * <p>This is the virtual scheduling algorithm of ITU-T I.371 (GCRA), with a measured cost.
 *
 * <p><i>Threading:</i> one event loop.
 */
final class HandshakeTurns {
    /** Handshakes get one of so many parts of the time. */
    static final int PARTS = 3;

    /** Time whose unused share is not lost. */
    static final long TOLERANCE_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

    /** Maximum time without a handshake. A pause of the process can make one look costly. */
    static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final EventLoop loop;
    private final DispatcherObserver observer;

    /** Handshakes that wait, by address. The first address has the next turn. */
    private final Map<Object, LinkedHashSet<Gate>> waiting = new LinkedHashMap<>();

    /** Before this time, no bytes of a handshake are processed. */
    private long nextNanos;

    private boolean scheduled;

    HandshakeTurns(EventLoop loop, DispatcherObserver observer) {
        this.loop = loop;
        this.observer = observer;
        nextNanos = loop.ticker().nanoTime() - TOLERANCE_NANOS;
    }

    /**
     * Returns a handler for the place before a TLS handler. It removes itself after the handshake.
     * It passes on what it receives, or releases it if the connection ends before.
     *
     * @param client {@code null} if it has no address
     */
    ChannelHandler gate(Future<?> handshake, @Nullable SocketAddress client) {
        Long key = ClientGuard.addressKey(client);
        Gate gate = new Gate(key == null ? this : key);
        handshake.addListener(ended -> gate.open());
        return gate;
    }

    private void add(Gate gate) {
        observer.onProtection(Protection.HANDSHAKE_DELAYED);
        waiting.computeIfAbsent(gate.address, address -> new LinkedHashSet<>()).add(gate);
        scheduleNext();
    }

    private void remove(Gate gate) {
        LinkedHashSet<Gate> same = waiting.get(gate.address);
        if (same != null && same.remove(gate) && same.isEmpty()) {
            waiting.remove(gate.address);
        }
    }

    private boolean isDue() {
        return loop.ticker().nanoTime() - nextNanos >= 0;
    }

    private void scheduleNext() {
        if (!scheduled && !waiting.isEmpty()) {
            scheduled = true;
            loop.schedule(this::next, nextNanos - loop.ticker().nanoTime(), TimeUnit.NANOSECONDS);
        }
    }

    /** All that waited when this was scheduled can have ended, and others can wait. */
    private void next() {
        scheduled = false;
        try {
            if (isDue() && !waiting.isEmpty()) {
                poll().passHeld();
            }
        } finally {
            scheduleNext();
        }
    }

    /** Removes the oldest handshake of the address that has the turn. */
    private Gate poll() {
        Iterator<Map.Entry<Object, LinkedHashSet<Gate>>> addresses =
                waiting.entrySet().iterator();
        Map.Entry<Object, LinkedHashSet<Gate>> turn = addresses.next();
        addresses.remove();
        Iterator<Gate> oldest = turn.getValue().iterator();
        Gate gate = oldest.next();
        oldest.remove();
        if (oldest.hasNext()) {
            waiting.put(turn.getKey(), turn.getValue());
        }
        return gate;
    }

    /** Holds the bytes of one handshake until it has its turn. */
    private final class Gate extends ChannelInboundHandlerAdapter {
        private final Object address;
        private @Nullable ChannelHandlerContext ctx;

        /** What waits for a turn; {@code null} = nothing. */
        private @Nullable ByteBuf held;

        Gate(Object address) {
            this.address = address;
        }

        @Override
        public void handlerAdded(ChannelHandlerContext context) {
            ctx = context;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (held != null) {
                held = Unpooled.wrappedBuffer(held, (ByteBuf) message);
            } else if (waiting.isEmpty() && isDue()) {
                pass(context, message);
            } else {
                held = (ByteBuf) message;
                context.channel().config().setAutoRead(false);
                add(this);
            }
        }

        /** Without data, the TLS handler would read more. */
        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            if (held == null) {
                context.fireChannelReadComplete();
            }
        }

        private void passHeld() {
            ChannelHandlerContext context = Objects.requireNonNull(ctx, "in no pipeline");
            ByteBuf bytes = Objects.requireNonNull(held, "holds nothing");
            held = null;
            // Before the bytes, because the protocol that follows them may stop reading.
            context.channel().config().setAutoRead(true);
            pass(context, bytes);
            context.fireChannelReadComplete();
        }

        private void pass(ChannelHandlerContext context, Object bytes) {
            long begunNanos = loop.ticker().nanoTime();
            try {
                context.fireChannelRead(bytes);
            } finally {
                long endNanos = loop.ticker().nanoTime();
                long earliest = Math.max(nextNanos - endNanos, -TOLERANCE_NANOS) + PARTS * (endNanos - begunNanos);
                nextNanos = endNanos + Math.min(earliest, MAX_PAUSE_NANOS);
            }
        }

        /** The handshake has ended. */
        private void open() {
            if (ctx != null && !ctx.isRemoved()) {
                ctx.pipeline().remove(this);
            }
        }

        /** The handshake has ended, or the connection. */
        @Override
        public void handlerRemoved(ChannelHandlerContext context) {
            if (held != null) {
                held.release();
                held = null;
                remove(this);
            }
        }
    }
}
