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
 * What a client connection uses of its event loop's {@link ClientMemory}. As a handler before TLS,
 * it sees all bytes that the client sends. As an {@link ExchangeOpener}, it refuses requests when
 * memory is scarce. There is one for each connection. Event loop only.
 */
public final class ClientAccount extends ChannelInboundHandlerAdapter implements ExchangeOpener {
    /** Memory of the objects of a waiting exchange, without its headers and its body. */
    public static final int EXCHANGE_BYTES = 1024;

    /** Maximum number of buffered bytes of a request body if memory is scarce. */
    static final int TIGHT_WINDOW_BYTES = 64 * 1024;

    /** The protocol handler of a connection. */
    public interface Holder {
        /**
         * Returns the bytes that are held for the client, except those in the channel's own queue.
         * Called when memory is measured, not for each request.
         */
        long heldBytes();

        /**
         * Releases everything that is held, because the connection is being closed. Its end is
         * reported later.
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

    /** What {@link ClientMemory} has measured last. */
    long heldAtLook;

    /** Index in {@link ClientMemory}; -1 if the connection is closed. */
    int index = -1;

    ClientAccount(ClientMemory memory, Channel channel, ExchangeOpener opener, int connectionBytes) {
        this.memory = memory;
        this.channel = channel;
        this.opener = opener;
        this.connectionBytes = connectionBytes;
    }

    /**
     * Sets the holder, which knows how much memory the connection uses. Replaces the previous
     * holder, for example after an upgrade.
     */
    public void heldBy(Holder value) {
        holder = value;
    }

    /**
     * Counts bytes that are held for the client and were not read from its socket: parts of a
     * response, or objects that are larger than the bytes that they were made of.
     */
    public void onHeld(int bytes) {
        memory.onMade(bytes);
    }

    /** Returns how many bytes of a request body may wait. */
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
            ReferenceCountUtil.release(message); // cut() has just closed the connection
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
}
