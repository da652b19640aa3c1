package io.lambdadispatcher.core.internal.ingress.http2;

import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Error;
import java.util.concurrent.TimeUnit;

/**
 * The graceful end of a client's connection (RFC 9113 section 6.8). The first GOAWAY announces it,
 * and a PING follows it. What the client sent before it knew of the end arrives before its answer
 * to the PING. After as long again, because not every client stops immediately, the second GOAWAY
 * names the last stream that is served. Event loop only.
 */
final class GracefulGoAway {
    /** Minimum time between the two GOAWAYs. */
    private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private static final long PING = 0x647261696eL;

    private enum State {
        SERVING,
        /** The first GOAWAY and the PING were sent. */
        ANNOUNCED,
        /** The client has answered the PING. */
        MEASURED,
        /** The second GOAWAY was sent, so no request can follow. */
        ENDING
    }

    private final Http2ClientConnection connection;
    private State state = State.SERVING;
    private long announcedNanos;

    GracefulGoAway(Http2ClientConnection connection) {
        this.connection = connection;
    }

    /** Begins, unless it has begun. */
    void begin() {
        if (state != State.SERVING) {
            return;
        }
        state = State.ANNOUNCED;
        ChannelHandlerContext ctx = connection.ctx();
        announcedNanos = ctx.executor().ticker().nanoTime();
        send(Integer.MAX_VALUE);
        connection.ping(PING);
        ctx.flush();
        endAfter(TimeUnit.MILLISECONDS.toNanos(IngressDrain.TRANSIT_MILLIS));
    }

    /** @param data what the answered PING carried */
    void onPingAck(long data) {
        if (state == State.ANNOUNCED && data == PING) {
            state = State.MEASURED;
            long roundTripNanos = connection.ctx().executor().ticker().nanoTime() - announcedNanos;
            endAfter(Math.max(roundTripNanos, MIN_PAUSE_NANOS - roundTripNanos));
        }
    }

    boolean isEnding() {
        return state == State.ENDING;
    }

    private void endAfter(long nanos) {
        connection.ctx().executor().schedule(this::end, nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Sends the second GOAWAY. The client can repeat later requests elsewhere. Netty's close()
     * sends no second GOAWAY.
     */
    private void end() {
        ChannelHandlerContext ctx = connection.ctx();
        if (state == State.ENDING || !ctx.channel().isActive()) {
            return;
        }
        send(connection.connection().remote().lastStreamCreated());
        ctx.channel().close();
        state = State.ENDING;
        connection.leaveDrainIfOnlyTunnels();
    }

    private void send(int lastStream) {
        ChannelHandlerContext ctx = connection.ctx();
        connection.goAway(ctx, lastStream, Http2Error.NO_ERROR.code(), Unpooled.EMPTY_BUFFER, ctx.newPromise());
    }
}
