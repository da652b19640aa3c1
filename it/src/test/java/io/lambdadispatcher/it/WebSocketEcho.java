package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.ContinuationWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PingWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PongWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameEncoder;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs in the workers of {@link WebSocketIT}. {@code /ws} echoes WebSocket messages frame by frame,
 * and {@code /raw} echoes bytes. {@code /refuse} answers 403. {@code /late} opens after 10 s.
 * {@code /flood} sends endlessly. {@code /stuck} reads nothing. {@code /silent} does nothing.
 * {@code /first} ends its direction first. Any other path is a page with counts of all events.
 */
public final class WebSocketEcho implements Handler {
    private static final int MAX_FRAME_BYTES = 4 * 1024 * 1024;

    private static final Map<String, AtomicInteger> seen = new ConcurrentHashMap<>();

    public WebSocketEcho() {}

    @Override
    public boolean servesTunnels() {
        return true;
    }

    private static void count(String what) {
        seen.computeIfAbsent(what, any -> new AtomicInteger()).incrementAndGet();
    }

    @Override
    public void handle(Request request, Response response) {
        if (!request.method().toString().equals("CONNECT")) {
            ByteBuf page = ByteBufUtil.writeUtf8(io.netty.buffer.UnpooledByteBufAllocator.DEFAULT, seen.toString());
            response.respond(new DefaultHttp2Headers(false).status("200"), page);
            return;
        }
        request.onCancel(code -> count("cancel-" + code));
        switch (request.path()) {
            case "/ws" -> open(request, response);
            case "/raw" -> raw(request, response);
            case "/refuse" -> response.respond(new DefaultHttp2Headers(false).status("403"));
            case "/late" -> request.eventLoop().schedule(() -> raw(request, response), 10, TimeUnit.SECONDS);
            case "/flood" -> flood(response);
            case "/stuck" -> response.head(200);
            case "/first" -> first(request, response);
            default -> {}
        }
    }

    private static void raw(Request request, Response response) {
        response.head(200);
        Pipe.connect(request.body(), response);
    }

    private static void first(Request request, Response response) {
        response.head(200);
        response.write(ByteBufUtil.writeAscii(io.netty.buffer.UnpooledByteBufAllocator.DEFAULT, "bye"));
        response.end();
        request.body().read(new BodyReader() {
            @Override
            public void onData(ByteBuf bytes) {
                count("after-end-" + bytes.toString(java.nio.charset.StandardCharsets.US_ASCII));
                bytes.release();
            }

            @Override
            public void onEnd(Http2Headers trailers) {
                count("end-after-end");
            }

            @Override
            public void onFailed(FailureReason code) {
                count("failed-after-end");
            }
        });
    }

    private static void flood(Response response) {
        response.head(200);
        Runnable more = () -> {
            while (response.isWritable()) {
                response.write(io.netty.buffer.UnpooledByteBufAllocator.DEFAULT
                        .directBuffer(16_384)
                        .writeZero(16_384));
                count("flood");
            }
        };
        response.onWritable(more);
        more.run();
    }

    private static void open(Request request, Response response) {
        Http2Headers head = new DefaultHttp2Headers(false).status("200");
        CharSequence offered = request.headers().get("sec-websocket-protocol");
        if (offered != null && offered.toString().contains("chat")) {
            head.set("sec-websocket-protocol", "chat");
        }
        response.head(head);
        Conversation conversation = new Conversation(request, response);
        response.onWritable(request.body()::resume);
        request.onDrain(grace -> conversation.send(new CloseWebSocketFrame(1001, "going away")));
        request.body().read(conversation);
    }

    /** The frames of one client. Confined to the event loop. */
    private static final class Conversation implements BodyReader {
        private final Request request;
        private final Response response;
        private final EmbeddedChannel codec = new EmbeddedChannel(
                new WebSocket13FrameDecoder(WebSocketDecoderConfig.newBuilder()
                        .expectMaskedFrames(true)
                        .allowExtensions(false)
                        .maxFramePayloadLength(MAX_FRAME_BYTES)
                        .build()),
                new WebSocket13FrameEncoder(false));
        private boolean closeSent;

        Conversation(Request request, Response response) {
            this.request = request;
            this.response = response;
        }

        void send(WebSocketFrame frame) {
            if (closeSent) {
                frame.release();
                return;
            }
            closeSent = frame instanceof CloseWebSocketFrame;
            codec.writeOutbound(frame);
            boolean writable = true;
            for (ByteBuf bytes = codec.readOutbound(); bytes != null; bytes = codec.readOutbound()) {
                writable = response.write(bytes);
            }
            if (!writable) {
                request.body().pause();
            }
        }

        @Override
        public void onData(ByteBuf bytes) {
            codec.writeInbound(bytes);
            for (WebSocketFrame frame = codec.readInbound(); frame != null; frame = codec.readInbound()) {
                onFrame(frame);
            }
        }

        private void onFrame(WebSocketFrame frame) {
            if (frame instanceof CloseWebSocketFrame close) {
                count("close-" + close.statusCode());
                send(new CloseWebSocketFrame(close.statusCode() < 0 ? 1000 : close.statusCode(), close.reasonText()));
                close.release();
                response.end();
                codec.finishAndReleaseAll();
            } else if (frame instanceof PingWebSocketFrame ping) {
                send(new PongWebSocketFrame(ping.content()));
            } else if (frame instanceof TextWebSocketFrame
                    || frame instanceof BinaryWebSocketFrame
                    || frame instanceof ContinuationWebSocketFrame) {
                send(frame);
            } else {
                frame.release();
            }
        }

        /** The client's FIN. A client that vanishes sends no close frame before it. */
        @Override
        public void onEnd(Http2Headers trailers) {
            count("end");
            codec.finishAndReleaseAll();
            if (request.cancellation() == null && !closeSent) {
                closeSent = true;
                response.end();
            }
        }

        @Override
        public void onFailed(FailureReason code) {
            count("failed-" + code);
            codec.finishAndReleaseAll();
        }
    }
}
