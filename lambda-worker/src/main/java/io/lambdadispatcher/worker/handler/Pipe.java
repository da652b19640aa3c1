package io.lambdadispatcher.worker.handler;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Passes a request's body and trailers on to a response whose head has been sent, without a copy.
 * It pauses the request while the response is not writable. Subclasses can change what is passed
 * on. Event loop only.
 */
public class Pipe implements BodyReader {
    private final RequestBody from;
    private final Response to;

    protected Pipe(RequestBody from, Response to) {
        this.from = from;
        this.to = to;
    }

    /** Starts to pass the body on. */
    public static void connect(RequestBody from, Response to) {
        new Pipe(from, to).start();
    }

    protected void start() {
        to.onWritable(from::resume);
        from.read(this);
    }

    /** Passes on; pauses the request if need be. */
    protected final void pass(ByteBuf data) {
        if (!to.write(data)) {
            from.pause();
        }
    }

    @Override
    public void onData(ByteBuf data) throws Exception {
        pass(data);
    }

    @Override
    public void onEnd(Http2Headers trailers) throws Exception {
        if (trailers.isEmpty()) {
            to.end();
        } else {
            to.end(trailers);
        }
    }

    @Override
    public void onFailed(FailureReason code) {
        to.fail(code, "the request's body is incomplete");
    }
}
