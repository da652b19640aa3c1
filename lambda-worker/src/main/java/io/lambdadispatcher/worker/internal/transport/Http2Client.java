package io.lambdadispatcher.worker.internal.transport;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.Http2Assembly;
import io.lambdadispatcher.wire.http2.Http2Events;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2ConnectionPrefaceAndSettingsFrameWrittenEvent;
import io.netty.handler.codec.http2.Http2Settings;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Netty's HTTP/2 handler as a client, without child channels: what the connection to a dispatcher
 * and those to an application are made with. Its {@link Owner} gets the frames of its one channel.
 * An exception ends the channel. Event loop only.
 */
public final class Http2Client extends CoalescingHttp2Handler {
    /**
     * Larger than any socket buffer between us: the connection's window is refilled at once and
     * must not be felt.
     */
    private static final int CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

    private static final Logger log = LoggerFactory.getLogger(Http2Client.class);

    /** Whoever opens the streams. Called on the event loop. */
    public abstract static class Owner extends Http2Events {
        /** Once, before all frames: streams may be opened, for our preface is on its way. */
        protected abstract void onConnected(ChannelHandlerContext ctx);

        /**
         * The channel is closed, and so are all streams.
         *
         * @param failure {@code null} where no exception was the cause
         */
        protected abstract void onInactive(@Nullable Throwable failure);
    }

    private final Owner owner;
    private @Nullable Throwable failure;

    private Http2Client(Http2Assembly.Parts parts, Owner owner) {
        super(parts);
        this.owner = owner;
        decoder().frameListener(owner);
    }

    public static Http2Client create(Owner owner, int streamWindowBytes) {
        return Http2Assembly.client(
                new FlatHeadersDecoder(FlatHeaders.MAX_LIST_BYTES, 0),
                Http2Settings.defaultSettings().pushEnabled(false).initialWindowSize(streamWindowBytes),
                parts -> new Http2Client(parts, owner));
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) throws Exception {
        if (event instanceof Http2ConnectionPrefaceAndSettingsFrameWrittenEvent) {
            growConnectionWindow(CONNECTION_WINDOW_BYTES - Http2CodecUtil.DEFAULT_WINDOW_SIZE);
            owner.onConnected(ctx);
        }
        super.userEventTriggered(ctx, event);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) throws Exception {
        super.channelInactive(ctx);
        owner.onInactive(failure);
    }

    /**
     * What is wrong with a frame does not come here: Netty's decoder has told the peer of it (RFC
     * 9113 section 5.4).
     */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        log.debug("connection {} failed", ctx.channel(), cause);
        if (failure == null) {
            failure = cause;
        }
        // Past our own close(), which waits for streams to end.
        ctx.close();
    }
}
