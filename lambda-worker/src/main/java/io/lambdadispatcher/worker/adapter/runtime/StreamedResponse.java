package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.event.StreamPrelude;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Arrays;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Translates a streamed result of a function into a response. With the content type {@value
 * #INTEGRATION}, the stream begins with status and headers in JSON and eight zero bytes. With any
 * other content type, the stream is the body of a response with status 200 (<a
 * href="https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html#runtimes-custom-response-streaming">AWS's
 * description</a>).
 *
 * <pre>
 *   PRELUDE ──zeros──▶ BODY ──end──▶ ENDED
 *      └────────malformed───────────▲
 * </pre>
 *
 * Confined to the loop of the API.
 */
final class StreamedResponse implements Answer.Stream {
    private static final String INTEGRATION = "application/vnd.awslambda.http-integration-response";
    private static final int DELIMITER_BYTES = 8;
    private static final int MOST_PRELUDE_BYTES = 2 * FlatHeaders.MAX_LIST_BYTES;

    private enum State {
        PRELUDE,
        BODY,
        ENDED
    }

    private static final Logger log = LoggerFactory.getLogger(StreamedResponse.class);

    private final Request request;
    private final Response response;
    private final Consumer<String> onMalformed;

    private State state = State.PRELUDE;
    private final BodyBuffer prelude = BodyBuffer.ofArray(-1, MOST_PRELUDE_BYTES);
    private int zeros;
    private boolean bodyless;

    /** @param onMalformed sends the response instead of this class; receives a text for logs */
    StreamedResponse(Request request, Response response, String contentType, Consumer<String> onMalformed) {
        this.request = request;
        this.response = response;
        this.onMalformed = onMalformed;
        if (!hasPrelude(contentType)) {
            sendHead(plainHead(contentType));
        }
    }

    static boolean hasPrelude(String contentType) {
        return contentType.startsWith(INTEGRATION);
    }

    private static Http2Headers plainHead(String contentType) {
        Http2Headers head = new DefaultHttp2Headers(false).status("200");
        head.set(
                HttpHeaderNames.CONTENT_TYPE,
                contentType.isEmpty() ? HttpHeaderValues.APPLICATION_OCTET_STREAM : AsciiString.of(contentType));
        return head;
    }

    private void sendHead(Http2Headers head) {
        state = State.BODY;
        bodyless = StatusCode.isBodyless(StatusCode.parse(head.status())) || Methods.isHead(request.method());
        response.head(head);
    }

    @Override
    public boolean onBytes(ByteBuf bytes) {
        if (request.cancellation() != null || state == State.ENDED) {
            bytes.release();
            return true;
        }
        return state == State.PRELUDE ? addToPrelude(bytes) : write(bytes);
    }

    private boolean write(ByteBuf bytes) {
        if (bodyless || !bytes.isReadable()) {
            bytes.release();
            return true;
        }
        try {
            // If the request is cancelled between these two calls, the response never becomes
            // writable again.
            return response.write(bytes) || request.cancellation() != null;
        } catch (IllegalStateException e) {
            // Longer than its content-length. The response has failed, so the rest is dropped.
            state = State.ENDED;
            return true;
        }
    }

    private boolean addToPrelude(ByteBuf bytes) {
        int end = bytes.forEachByte(value -> {
            zeros = value == 0 ? zeros + 1 : 0;
            return zeros < DELIMITER_BYTES;
        });
        if (end < 0) {
            gather(bytes);
            return true;
        }
        gather(bytes.readRetainedSlice(end + 1 - bytes.readerIndex()));
        if (state == State.PRELUDE) {
            onPrelude();
        }
        if (state == State.BODY) {
            return write(bytes);
        }
        bytes.release();
        return true;
    }

    private void gather(ByteBuf bytes) {
        if (!prelude.add(bytes)) {
            malformed("a prelude of more than " + MOST_PRELUDE_BYTES + " bytes");
        }
    }

    private void onPrelude() {
        byte[] json = prelude.toArray();
        try {
            sendHead(StreamPrelude.read(Arrays.copyOf(json, json.length - DELIMITER_BYTES)));
        } catch (BadResponseException | IllegalArgumentException e) {
            malformed("the prelude of a streamed answer: " + e.getMessage());
        }
    }

    private void malformed(String text) {
        prelude.release();
        state = State.ENDED;
        onMalformed.accept(text);
    }

    @Override
    public void onEnd() {
        switch (state) {
            case PRELUDE -> malformed("a streamed answer ended before its prelude did");
            case BODY -> {
                state = State.ENDED;
                endResponse();
            }
            case ENDED -> {}
        }
    }

    private void endResponse() {
        try {
            response.end();
        } catch (IllegalStateException e) {
            log.warn("the streamed answer to {} failed: {}", request, e.getMessage());
        }
    }

    @Override
    public void onBroken(String text) {
        switch (state) {
            case PRELUDE -> malformed(text);
            case BODY -> {
                state = State.ENDED;
                response.fail(FailureReason.HANDLER_FAILED, text);
            }
            case ENDED -> {}
        }
    }
}
