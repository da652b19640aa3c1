package io.lambdadispatcher.worker.connect;

import io.lambdadispatcher.wire.FlatHeadersDecoder;
import io.lambdadispatcher.wire.WireLimits;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.EagerFrameReader;
import io.lambdadispatcher.wire.http2.GatheringFrameWriter;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.DefaultHttp2RemoteFlowController;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.UniformStreamByteDistributor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Netty's HTTP/2 handler as a client, without child channels; tells its connection of the channel's beginning and end. */
final class Http2Client extends CoalescingHttp2Handler {
    private static final Logger log = LoggerFactory.getLogger(Http2Client.class);

    private final WorkerConnection owner;
    private boolean started;

    private Http2Client(
            Http2ConnectionDecoder decoder,
            Http2ConnectionEncoder encoder,
            GatheringFrameWriter frames,
            Http2Settings settings,
            WorkerConnection owner) {
        super(decoder, encoder, frames, settings);
        this.owner = owner;
    }

    static Http2Client create(WorkerConnection owner, int streamWindowBytes) {
        DefaultHttp2Connection connection = new DefaultHttp2Connection(false);
        // The streams' windows bound the memory: the connection's would only let one slow handler hold up the others.
        connection
                .local()
                .flowController(new DefaultHttp2LocalFlowController(
                        connection, DefaultHttp2LocalFlowController.DEFAULT_WINDOW_UPDATE_RATIO, true));
        connection
                .remote()
                .flowController(
                        new DefaultHttp2RemoteFlowController(connection, new UniformStreamByteDistributor(connection)));
        GatheringFrameWriter frames = new GatheringFrameWriter();
        Http2ConnectionEncoder encoder = new DefaultHttp2ConnectionEncoder(connection, frames);
        Http2ConnectionDecoder decoder = new DefaultHttp2ConnectionDecoder(
                connection, encoder, new EagerFrameReader(new FlatHeadersDecoder(WireLimits.MAX_HEAD_LIST_BYTES)));
        decoder.frameListener(owner);
        Http2Settings settings =
                Http2Settings.defaultSettings().pushEnabled(false).initialWindowSize(streamWindowBytes);
        return new Http2Client(decoder, encoder, frames, settings, owner);
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
        super.handlerAdded(ctx);
        startIfActive(ctx);
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) throws Exception {
        super.channelActive(ctx);
        startIfActive(ctx);
    }

    /** The preface has been sent by then. */
    private void startIfActive(ChannelHandlerContext ctx) throws Exception {
        if (!started && ctx.channel().isActive()) {
            started = true;
            owner.onConnected(ctx);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) throws Exception {
        super.channelInactive(ctx);
        owner.onInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) throws Exception {
        log.debug("worker connection {} failed", ctx.channel(), cause);
        owner.onFailed(cause);
        ctx.close();
    }
}
