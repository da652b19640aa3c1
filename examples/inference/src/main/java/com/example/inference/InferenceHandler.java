package com.example.inference;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;

/**
 * The handler. {@code POST /inference/json} and {@code /inference/protobuf} return a probability,
 * {@code POST /classify} the five most probable labels of an image. The network takes less time
 * than a change of threads, so it runs on the event loop. Images are decoded on separate threads.
 */
public final class InferenceHandler implements Handler {
    private static final AsciiString TEXT = AsciiString.cached("text/plain; charset=utf-8");
    private static final int MOST_BYTES = 64 * 1024;
    private static final Inference JSON = new JsonInference();
    private static final Inference PROTOBUF = new ProtobufInference();

    private final Classify classify = new Classify();

    @Override
    public void handle(Request request, Response response) throws Exception {
        switch (request.path()) {
            case "/inference/json" -> infer(JSON, request, response);
            case "/inference/protobuf" -> infer(PROTOBUF, request, response);
            case "/classify" -> classify.asHandler().handle(request, response);
            default -> text(response, 404, "there are /inference/json, /inference/protobuf and /classify");
        }
    }

    private static void infer(Inference inference, Request request, Response response) {
        if (!request.method().toString().equals("POST")) {
            text(response, 405, "expected POST");
            return;
        }
        request.body().readAll(MOST_BYTES, body -> {
            try {
                respond(response, 200, inference.mediaType(), inference.answer(body));
            } catch (IllegalArgumentException e) {
                text(response, 400, String.valueOf(e.getMessage()));
            }
        });
    }

    private static void text(Response response, int status, String text) {
        respond(response, status, TEXT, (text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** @param bytes must not be changed afterwards */
    private static void respond(Response response, int status, AsciiString type, byte[] bytes) {
        Http2Headers head = new DefaultHttp2Headers(false)
                .status(Integer.toString(status))
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(bytes.length)));
        response.respond(head, Unpooled.wrappedBuffer(bytes));
    }
}
