package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.worker.internal.exchange.BodyBudget;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;

/** Gathers a body into one array. */
final class WholeUpload implements Upload {
    /** Receives the body. Exactly one of its methods is called. */
    interface Taker {
        void onWhole(byte[] data);

        /** The body is too large. Called immediately; the rest of the body is dropped. */
        void onTooLarge();

        void onBroken();
    }

    private final BodyBuffer body;
    private final BodyBudget budget;
    private final Taker taker;
    private long takenBytes;
    private boolean tooLarge;

    /** @param announcedBytes at most {@code maxBytes}, or -1 if unknown */
    WholeUpload(int announcedBytes, int maxBytes, BodyBudget budget, Taker taker) {
        this.body = BodyBuffer.ofArray(announcedBytes, maxBytes);
        this.budget = budget;
        this.taker = taker;
    }

    @Override
    public void onBytes(ByteBuf part) {
        if (tooLarge) {
            part.release();
            return;
        }
        int bytes = part.readableBytes();
        boolean fits = budget.tryTake(takenBytes, bytes);
        if (!fits) {
            part.release();
        } else {
            takenBytes += bytes;
            fits = body.add(part);
        }
        if (!fits) {
            tooLarge = true;
            end();
            taker.onTooLarge();
        }
    }

    @Override
    public void onEnd(HttpHeaders trailers) {
        if (!tooLarge) {
            byte[] whole = body.toArray();
            end();
            taker.onWhole(whole);
        }
    }

    @Override
    public void onBroken() {
        if (!tooLarge) {
            end();
            taker.onBroken();
        }
    }

    private void end() {
        body.release();
        budget.giveBack(takenBytes);
        takenBytes = 0;
    }
}
