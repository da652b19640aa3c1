package io.lambdadispatcher.worker.adapter.runtime;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Arrays;

/** Gathers a body in one array, which is copied at the end only where its size was not announced. */
final class WholeUpload implements Upload {
    private static final int FIRST_BYTES = 4 * 1024;

    /** Exactly one of the first two methods is called, unless the connection breaks. */
    interface Taker {
        void onWhole(byte[] octets);

        /** Called at once; what else comes is dropped. */
        void onTooLarge();

        void onBroken();
    }

    private final int maxBytes;
    private final Taker taker;
    private byte[] octets;
    private int length;
    private boolean tooLarge;

    /** @param announcedBytes -1 = unknown; no more than {@code maxBytes} */
    WholeUpload(int announcedBytes, int maxBytes, Taker taker) {
        this.maxBytes = maxBytes;
        this.taker = taker;
        this.octets = new byte[announcedBytes < 0 ? Math.min(FIRST_BYTES, maxBytes) : announcedBytes];
    }

    @Override
    public void onOctets(ByteBuf part) {
        try {
            int bytes = part.readableBytes();
            if (tooLarge) {
                return;
            }
            if (bytes > maxBytes - length) {
                tooLarge = true;
                octets = new byte[0];
                taker.onTooLarge();
                return;
            }
            if (bytes > octets.length - length) {
                int doubled = (int) Math.min(maxBytes, octets.length * 2L);
                octets = Arrays.copyOf(octets, Math.max(doubled, length + bytes));
            }
            part.readBytes(octets, length, bytes);
            length += bytes;
        } finally {
            part.release();
        }
    }

    @Override
    public void onEnd(HttpHeaders trailers) {
        if (!tooLarge) {
            taker.onWhole(length == octets.length ? octets : Arrays.copyOf(octets, length));
        }
    }

    @Override
    public void onBroken() {
        if (!tooLarge) {
            taker.onBroken();
        }
    }
}
