package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/** Sends a response in parts, with a delay between them. Confined to the request's event loop. */
final class Drip {
    private final Request request;
    private final Response response;
    private final int parts;
    private final int delayMillis;
    private final IntFunction<String> text;
    private int sent;

    Drip(Request request, Response response, int parts, int delayMillis, IntFunction<String> text) {
        this.request = request;
        this.response = response;
        this.parts = parts;
        this.delayMillis = delayMillis;
        this.text = text;
    }

    /** Starts to send the parts. Call it after the response headers are sent. */
    void start() {
        onTurn();
    }

    private void onTurn() {
        if (request.cancellation() != null) {
            return;
        }
        if (sent == parts) {
            response.end();
            return;
        }
        // If the client does not read, this turn sends nothing, so that memory stays bounded.
        if (response.isWritable()) {
            response.write(ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, text.apply(sent)));
            sent++;
        }
        request.eventLoop().schedule(this::onTurn, delayMillis, TimeUnit.MILLISECONDS);
    }
}
