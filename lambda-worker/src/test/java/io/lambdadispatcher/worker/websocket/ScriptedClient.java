package io.lambdadispatcher.worker.websocket;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.ScriptedStream;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameEncoder;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http2.Http2Headers;

/** A client's end of a WebSocket on a worker stream, frame by frame or byte by byte. */
final class ScriptedClient implements AutoCloseable {
    static final int UNMASKED = 0;
    static final int MASKED = 0x80;

    final ScriptedStream stream;
    final Http2Headers answer;
    private final EmbeddedChannel codec = new EmbeddedChannel(
            new WebSocket13FrameEncoder(true),
            new WebSocket13FrameDecoder(WebSocketDecoderConfig.newBuilder()
                    .expectMaskedFrames(false)
                    .maxFramePayloadLength(1 << 22)
                    .closeOnProtocolViolation(false)
                    .build()));

    private ScriptedClient(ScriptedStream stream, Http2Headers answer) {
        this.stream = stream;
        this.answer = answer;
    }

    static Http2Headers head(String path) {
        return ScriptedStream.get(path)
                .method("CONNECT")
                .set(":protocol", "websocket")
                .set("sec-websocket-version", "13");
    }

    static ScriptedClient open(ScriptedStream stream, Http2Headers head) throws InterruptedException {
        stream.request(head, 0, false);
        return new ScriptedClient(stream, stream.take(ScriptedStream.Head.class).headers());
    }

    static ScriptedClient open(ScriptedStream stream) throws InterruptedException {
        return open(stream, head("/ws"));
    }

    byte[] bytes(WebSocketFrame frame) {
        codec.writeOutbound(frame);
        ByteBuf whole = Unpooled.buffer();
        for (ByteBuf part = codec.readOutbound(); part != null; part = codec.readOutbound()) {
            whole.writeBytes(part);
            part.release();
        }
        return ByteBufUtil.getBytes(whole);
    }

    void send(WebSocketFrame frame) {
        send(bytes(frame));
    }

    void send(byte[] bytes) {
        stream.data(bytes, false);
    }

    /** Sends a frame that violates the protocol. */
    void send(int firstByte, int mask, byte[] payload) {
        ByteBuf frame = Unpooled.buffer().writeByte(firstByte).writeByte(mask | payload.length);
        if (mask != UNMASKED) {
            frame.writeInt(0); // changes nothing
        }
        send(ByteBufUtil.getBytes(frame.writeBytes(payload)));
    }

    /** Returns a frame. It is released by the caller, or together with the client. */
    <F extends WebSocketFrame> F take(Class<F> type) throws InterruptedException {
        WebSocketFrame frame = codec.readInbound();
        while (frame == null) {
            codec.writeInbound(Unpooled.wrappedBuffer(
                    stream.take(ScriptedStream.Data.class).content()));
            frame = codec.readInbound();
        }
        assertThat(frame).isInstanceOf(type);
        return type.cast(frame);
    }

    /** @return the code of the close frame */
    int takeClose() throws InterruptedException {
        CloseWebSocketFrame close = take(CloseWebSocketFrame.class);
        try {
            return close.statusCode();
        } finally {
            close.release();
        }
    }

    void takeEnd() throws InterruptedException {
        ScriptedStream.Data end = stream.take(ScriptedStream.Data.class);
        assertThat(end.end()).isTrue();
        assertThat(end.content()).isEmpty();
    }

    @Override
    public void close() {
        codec.finishAndReleaseAll();
    }
}
