package io.lambdadispatcher.worker.websocket;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.CodecException;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.codec.http.websocketx.CorruptedWebSocketFrameException;
import io.netty.handler.codec.http.websocketx.Utf8FrameValidator;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameEncoder;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.util.ReferenceCountUtil;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Translates bytes into messages and back with Netty's codec. It checks masks, UTF-8 and limits,
 * and joins fragments. It holds at most a part of one message. Confined to the event loop of the
 * session.
 */
final class FrameCodec {
    private final EmbeddedChannel channel;
    private boolean broken;

    FrameCodec(int mostMessageBytes) {
        WebSocketDecoderConfig config = WebSocketDecoderConfig.newBuilder()
                .maxFramePayloadLength(mostMessageBytes)
                .expectMaskedFrames(true) // RFC 6455 section 5.1
                .allowExtensions(false)
                .closeOnProtocolViolation(false) // the session does
                .build();
        channel = new EmbeddedChannel(
                new WebSocket13FrameEncoder(false),
                new WebSocket13FrameDecoder(config),
                new Utf8FrameValidator(false),
                new WebSocketFrameAggregator(mostMessageBytes),
                new Gate());
    }

    /**
     * Lets frames pass until the first error. This is needed because Netty's decoder decodes the
     * same bytes again after an error of a later handler.
     */
    private final class Gate extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object frame) {
            if (broken) {
                ReferenceCountUtil.release(frame);
            } else {
                ctx.fireChannelRead(frame);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            broken = true;
            ctx.fireExceptionCaught(cause);
        }
    }

    /**
     * Decodes bytes into frames. After a violation, nothing is decoded any more.
     *
     * @param bytes released by this method
     * @param frames receives the frames and must release each
     * @return how the peer has violated the protocol, or {@code null} if it has not
     */
    @Nullable
    WebSocketCloseStatus decode(ByteBuf bytes, Consumer<WebSocketFrame> frames) {
        if (broken || !channel.isOpen()) {
            bytes.release();
            return null;
        }
        WebSocketCloseStatus violation = null;
        try {
            channel.writeInbound(bytes);
        } catch (CodecException e) {
            violation = statusOf(e);
        }
        for (WebSocketFrame frame = channel.readInbound(); frame != null; frame = channel.readInbound()) {
            frames.accept(frame);
        }
        return violation;
    }

    private static WebSocketCloseStatus statusOf(CodecException e) {
        if (e instanceof CorruptedWebSocketFrameException corrupted) {
            return corrupted.closeStatus();
        }
        return e instanceof TooLongFrameException
                ? WebSocketCloseStatus.MESSAGE_TOO_BIG
                : WebSocketCloseStatus.PROTOCOL_ERROR;
    }

    /** Encodes a frame. @param frame released by this method */
    void encode(WebSocketFrame frame, Consumer<ByteBuf> parts) {
        channel.writeOutbound(frame);
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            parts.accept(part);
        }
    }

    /** Releases the codec and drops an incomplete message. */
    void close() {
        try {
            channel.finishAndReleaseAll();
        } catch (CodecException e) {
            // The input ended within a message. Everything has been released.
        }
    }
}
