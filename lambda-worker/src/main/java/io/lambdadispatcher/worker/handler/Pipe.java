package io.lambdadispatcher.worker.handler;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Passes a request's body on to a response whose head has been sent, by reference, trailers included; pauses the one while the other is not
 * writable. Subclasses change what is passed on. Event loop only.
 */
public class Pipe implements BodyReader {
    private final RequestBody from;
    private final Response to;

    protected Pipe(RequestBody from, Response to) {
        this.from = from;
        this.to = to;
    }

    public static void connect(RequestBody from, Response to) {
        new Pipe(from, to).start();
    }

    protected void start() {
        to.onWritable(from::resume);
        from.read(this);
    }

    /** Passes on; pauses the request if need be. */
    protected final void pass(ByteBuf octets) {
        if (!to.write(octets)) {
            from.pause();
        }
    }

    @Override
    public void onData(ByteBuf octets) throws Exception {
        pass(octets);
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
        to.fail(code, "the request's body broke off");
    }
}
