package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BodyBuffer;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;

/** Gathers a body in one array. */
final class WholeUpload implements Upload {
    /** Exactly one of the first two methods is called, unless the connection breaks. */
    interface Taker {
        void onWhole(byte[] octets);

        /** Called at once; what else comes is dropped. */
        void onTooLarge();

        void onBroken();
    }

    private final BodyBuffer body;
    private final Taker taker;

    /** @param announcedBytes -1 = unknown; no more than {@code maxBytes} */
    WholeUpload(int announcedBytes, int maxBytes, Taker taker) {
        this.body = BodyBuffer.ofArray(announcedBytes, maxBytes);
        this.taker = taker;
    }

    @Override
    public void onOctets(ByteBuf part) {
        boolean wasTooLarge = body.isTooLarge();
        if (!body.add(part) && !wasTooLarge) {
            taker.onTooLarge();
        }
    }

    @Override
    public void onEnd(HttpHeaders trailers) {
        if (!body.isTooLarge()) {
            taker.onWhole(body.toArray());
        }
    }

    @Override
    public void onBroken() {
        if (!body.isTooLarge()) {
            taker.onBroken();
        }
    }
}
