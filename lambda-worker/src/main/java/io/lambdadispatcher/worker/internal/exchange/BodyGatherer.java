package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.WholeBody;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;

/** Gathers the body of one request up to a limit. Event loop only. */
public final class BodyGatherer implements BodyReader {
    private final int maxBytes;
    private final WholeBody then;
    private final Runnable onTooLong;
    private final ByteArrayOutputStream gathered = new ByteArrayOutputStream(512);
    private boolean tooLong;

    public BodyGatherer(int maxBytes, WholeBody then, Runnable onTooLong) {
        if (maxBytes < 0) {
            throw new IllegalArgumentException("maxBytes: " + maxBytes + ", expected 0 or more");
        }
        this.maxBytes = maxBytes;
        this.then = then;
        this.onTooLong = onTooLong;
    }

    /** Returns the text that the client receives if the body is too long. */
    public static String tooLong(int maxBytes) {
        return "the request's body is longer than " + maxBytes + " bytes\n";
    }

    @Override
    public void onData(ByteBuf buffer) {
        int bytes = buffer.readableBytes();
        boolean fits = !tooLong && bytes <= maxBytes - gathered.size();
        try {
            if (fits) {
                byte[] copy = new byte[bytes];
                buffer.readBytes(copy);
                gathered.writeBytes(copy);
            }
        } finally {
            buffer.release();
        }
        if (!fits && !tooLong) {
            tooLong = true;
            gathered.reset();
            onTooLong.run();
        }
    }

    @Override
    public void onEnd(Http2Headers trailers) throws Exception {
        if (!tooLong) {
            then.accept(gathered.toByteArray());
        }
    }

    @Override
    public void onFailed(FailureReason code) {}
}
