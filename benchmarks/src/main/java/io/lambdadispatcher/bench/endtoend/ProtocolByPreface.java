package io.lambdadispatcher.bench.endtoend;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import java.util.List;

/**
 * Reads the first bytes of a connection to detect HTTP/2 or HTTP/1.1. Then it sets up the pipeline
 * and removes itself.
 */
final class ProtocolByPreface extends ByteToMessageDecoder {
    /** The bytes {@code PRI } as an int. No HTTP/1.1 method starts like this. */
    private static final int PREFACE_START = 0x50524920;

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
        if (in.readableBytes() < Integer.BYTES) {
            return;
        }
        ChannelPipeline pipeline = ctx.pipeline();
        if (in.getInt(in.readerIndex()) == PREFACE_START) {
            pipeline.addLast(Http2Backend.newHandler());
        } else {
            pipeline.addLast(new HttpServerCodec(), new HttpServerKeepAliveHandler(), new Http1Backend());
        }
        pipeline.remove(this);
    }
}
