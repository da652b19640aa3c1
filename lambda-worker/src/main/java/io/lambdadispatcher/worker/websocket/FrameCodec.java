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
 * Bytes to messages and back, by Netty's codec: masks, fragments put together, UTF-8 checked,
 * limits kept. Event loop of the session only. Holds a part of a message at most.
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
     * Lets frames pass until the first error. Netty's decoder goes on with the same bytes after an
     * error of a later handler.
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
     * @param bytes owned from now on
     * @param frames each owned by who takes it
     * @return what the peer has done wrong; {@code null} if nothing. Nothing is decoded after that.
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

    /** @param frame owned from now on */
    void encode(WebSocketFrame frame, Consumer<ByteBuf> parts) {
        channel.writeOutbound(frame);
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            parts.accept(part);
        }
    }

    /** Drops what is incomplete. */
    void close() {
        try {
            channel.finishAndReleaseAll();
        } catch (CodecException e) {
            // It ended within a message, and all is released by now.
        }
    }
}
