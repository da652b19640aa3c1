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
 * Limits how long TLS handshakes keep an event loop from other work, because a signature costs as
 * much as many requests. In each turn of the event loop, no further bytes of handshakes are
 * processed when they have taken {@value #QUANTUM_MICROS} µs. What is left waits for the next turn,
 * after all sockets that are ready. So handshakes delay a request by little more than that, and get
 * all the time that nothing else needs.
 *
 * <p>Addresses whose handshakes wait take turns, and the oldest handshake of an address is its
 * next. There is no limit per address: behind a load balancer that passes TLS on, all clients can
 * have one address.
 *
 * <p><i>Threading:</i> one event loop.
 */
final class HandshakeTurns {
    private static final int QUANTUM_MICROS = 1000;
    static final long QUANTUM_NANOS = TimeUnit.MICROSECONDS.toNanos(QUANTUM_MICROS);

    private final EventLoop loop;
    private final DispatcherObserver observer;

    /** Handshakes that wait, by address. The first address has the next turn. */
    private final Map<Object, LinkedHashSet<Gate>> waiting = new LinkedHashMap<>();

    /** Time that handshakes have taken in this turn of the event loop. */
    private long spentNanos;

    /** Whether {@link #onTurn} will be called, as it must if anything waits. */
    private boolean scheduled;

    HandshakeTurns(EventLoop loop, DispatcherObserver observer) {
        this.loop = loop;
        this.observer = observer;
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
    }

    private void remove(Gate gate) {
        LinkedHashSet<Gate> same = waiting.get(gate.address);
        if (same != null && same.remove(gate) && same.isEmpty()) {
            waiting.remove(gate.address);
        }
    }

    private boolean hasTime() {
        return spentNanos < QUANTUM_NANOS;
    }

    private void onTurn() {
        scheduled = false;
        spentNanos = 0;
        while (hasTime() && !waiting.isEmpty()) {
            poll().passHeld();
        }
    }

    /** An event loop begins a scheduled task only in its next turn, unlike one that is executed. */
    private void spend(long nanos) {
        spentNanos += nanos;
        if (!scheduled) {
            scheduled = true;
            loop.schedule(this::onTurn, 0, TimeUnit.NANOSECONDS);
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
            } else if (waiting.isEmpty() && hasTime()) {
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
                spend(loop.ticker().nanoTime() - begunNanos);
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
