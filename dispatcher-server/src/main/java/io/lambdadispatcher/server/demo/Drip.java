package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/** A response that is sent in parts, with a delay between them. Event loop only. */
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

    /** Call it after the head has been sent. */
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
        // For a client that does not read, the part is sent in a later turn, so that memory stays
        // bounded.
        if (response.isWritable()) {
            response.write(ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, text.apply(sent)));
            sent++;
        }
        request.eventLoop().schedule(this::onTurn, delayMillis, TimeUnit.MILLISECONDS);
    }
}
