package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.blocking.BlockingInput;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A request's body. If more than {@link #HIGH_BYTES} wait for the handler, the request is paused,
 * so that flow control stops the sender.
 */
final class BodyInput extends BlockingInput implements BodyReader {
    static final int HIGH_BYTES = 64 * 1024;
    private static final int LOW_BYTES = 16 * 1024;

    private final RequestBody from;
    private boolean paused;

    BodyInput(RequestBody from) {
        this.from = from;
    }

    @Override
    public void onData(ByteBuf data) {
        add(data);
    }

    @Override
    public void onEnd(Http2Headers fields) {
        end(fields);
    }

    @Override
    public void onFailed(FailureReason code) {
        fail("the request's body broke off: " + code);
    }

    @Override
    protected void onHeld(int allHeldBytes) {
        if (allHeldBytes > HIGH_BYTES && !paused) {
            paused = true;
            from.pause();
        }
    }

    @Override
    protected void onTaken(int bytes, int leftBytes) {
        if (paused && leftBytes <= LOW_BYTES) {
            paused = false;
            from.resume();
        }
    }

    /** Passes buffers by reference if {@code out} is the body of a response. */
    @Override
    public long transferTo(OutputStream out) throws IOException {
        if (!(out instanceof BodyOutput body)) {
            return super.transferTo(out);
        }
        long bytes = 0;
        for (ByteBuf next = takeFirst(); next != null; next = takeFirst()) {
            bytes += next.readableBytes();
            body.pass(next);
        }
        return bytes;
    }
}
