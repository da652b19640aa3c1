package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/** A response of so many parts with so much time between them. Event loop only. */
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

    /** The head has been sent. */
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
        // A client that does not read is not sent more than the response holds; its turn comes again.
        if (response.isWritable()) {
            response.write(ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, text.apply(sent)));
            sent++;
        }
        request.eventLoop().schedule(this::onTurn, delayMillis, TimeUnit.MILLISECONDS);
    }
}
