package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/**
 * What a client connection holds of its event loop's {@link ClientMemory}. As a handler before TLS
 * it sees all that the client sends; as an {@link ExchangeOpener} it refuses requests when memory
 * is scarce. One per connection; event loop only.
 */
public final class ClientAccount extends ChannelInboundHandlerAdapter implements ExchangeOpener {
    /** Of an exchange, besides its head and its body: the objects of it that wait. */
    public static final int EXCHANGE_BYTES = 1024;

    /** As much of a request body is buffered if memory is tight. */
    static final int TIGHT_WINDOW_BYTES = 64 * 1024;

    /** The connection's protocol handler. */
    public interface Holder {
        /**
         * Returns what is held for the client, in bytes, except for what waits in the channel's own
         * queue. Called when memory is looked at, not for each request.
         */
        long heldBytes();

        /**
         * The connection is being closed: lets go of all that it holds, rather than when its end is
         * reported.
         */
        void release();
    }

    private static final Failure OVERLOADED =
            new Failure(Failure.Kind.OVERLOADED, "the dispatcher uses its maximum memory for clients");

    private final ClientMemory memory;
    private final Channel channel;
    private final ExchangeOpener opener;
    private final int connectionBytes;
    private @Nullable Holder holder;
    private long heldAtLook;

    /** {@link ClientMemory}'s: where it has the account; -1 if the connection is closed. */
    int index = -1;

    ClientAccount(ClientMemory memory, Channel channel, ExchangeOpener opener, int connectionBytes) {
        this.memory = memory;
        this.channel = channel;
        this.opener = opener;
        this.connectionBytes = connectionBytes;
    }

    /**
     * Sets who knows what the connection holds. Replaces the holder before, e.g. after an upgrade.
     */
    public void heldBy(Holder value) {
        holder = value;
    }

    /**
     * Something is held for the client besides what is read from its socket: a part of a response,
     * or objects that are larger than the bytes that they were made of.
     */
    public void onHeld(int bytes) {
        memory.onMade(bytes);
    }

    /** Returns how much of a request body may wait, in bytes. */
    public int windowBytes(int usualBytes) {
        return memory.isTight() ? Math.min(usualBytes, TIGHT_WINDOW_BYTES) : usualBytes;
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        return memory.admitsRequest(this)
                ? opener.open(head, end, response)
                : opener.refuse(head, response, OVERLOADED);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf bytes) {
            memory.onRead(bytes.readableBytes());
        }
        if (index < 0) {
            ReferenceCountUtil.release(message); // of a connection that has just been closed
        } else {
            ctx.fireChannelRead(message);
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        memory.close(this);
    }

    void cut() {
        AbruptClose.of(channel);
        if (holder != null) {
            holder.release();
        }
    }

    int connectionBytes() {
        return connectionBytes;
    }

    long heldBytes() {
        ChannelOutboundBuffer queue = channel.unsafe().outboundBuffer();
        return connectionBytes
                + (queue == null ? 0 : queue.totalPendingWriteBytes())
                + (holder == null ? 0 : holder.heldBytes());
    }

    long lookAtHeldBytes() {
        heldAtLook = heldBytes();
        return heldAtLook;
    }

    long heldAtLook() {
        return heldAtLook;
    }
}
