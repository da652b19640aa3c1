package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.blocking.ResponseDraft;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.util.Map;

/** The response of a blocking handler. Confined to the handler's thread. */
final class BlockingAnswer extends ResponseDraft<BlockingResponse> implements BlockingResponse {
    private final Response to;
    private final BodyOutput body;

    BlockingAnswer(Response to, BodyOutput body) {
        super(body);
        this.to = to;
        this.body = body;
    }

    @Override
    protected BlockingResponse self() {
        return this;
    }

    @Override
    public void interim(int status, Map<String, String> headers) {
        FlatHeaders interim = new FlatHeaders();
        interim.status(text(status));
        headers.forEach((name, value) -> add(interim, name, value));
        to.interim(interim);
    }

    /** Sends status and headers if they have not been sent. */
    void sendHead() {
        Http2Headers unsent = unsentHead();
        if (unsent != null) {
            to.head(unsent);
            onHeadSent();
        }
    }

    /**
     * Ends the response after the handler has returned. If the complete body was gathered, it is
     * sent together with the headers.
     *
     * @throws IllegalStateException if the handler has not responded, or the body does not match
     *     the headers
     */
    void end() throws IOException {
        verifyBegun();
        Http2Headers unsent = unsentHead();
        Http2Headers trailers = trailers();
        if (trailers != null) {
            body.flush();
            to.end(trailers);
        } else if (unsent == null) {
            body.flush();
            to.end();
        } else {
            ByteBuf gathered = body.takeGathered();
            if (gathered == null) {
                to.respond(unsent);
            } else {
                to.respond(unsent, gathered);
            }
        }
    }
}
