package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.options.CompressionPolicy;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.AcceptEncoding;
import io.lambdadispatcher.wire.http.ContentCoding;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.EncodedRepresentation;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * One request whose response may be compressed. It is the client's exchange for the function, and
 * the client for the exchange.
 *
 * <p><i>Buffers:</i> releases what it receives when it is encoded, and passes what it has encoded
 * on. Confined to the client's event loop.
 */
final class CompressedExchange implements RequestSink, ForwardingSink {

    private enum State {
        /** There are no response headers yet. */
        REQUESTED,
        /** The response passes through unchanged. */
        PLAIN,
        /** The body is encoded as it arrives. */
        ENCODING,
        /** The exchange has ended. The rest of its body is encoded in several turns. */
        FINISHING,
        /** All is encoded. The client may have yet to take it. */
        ENCODED,
        /** The client has left, or the response has failed. */
        STOPPED
    }

    /**
     * Maximum part of the last piece of a body that is encoded in one turn of the event loop.
     * Responses to direct requests arrive as one piece of up to 6 MB.
     */
    private static final int TURN_BYTES = 32 * 1024;

    private static final int LEAST_OUTPUT_BYTES = 256;

    private static final SeldomLog failures =
            new SeldomLog(LoggerFactory.getLogger(CompressedExchange.class), Ticker.systemTicker());

    private final CompressionFilter filter;
    private final CompressionPolicy policy;
    private final Http2Headers head;
    private final ResponseSink response;
    private final boolean headRequest;

    /** The encoding that the client likes best; {@code null} = none. */
    private final @Nullable ContentEncoding chosen;

    /** {@code if-none-match} of the client; {@code null} = none. */
    private final @Nullable String noneMatch;

    private final EncodingLedger ledger = new EncodingLedger();
    private State state = State.REQUESTED;
    private @Nullable RequestSink request;

    /** How the body is encoded; {@code null} = it is not. */
    private @Nullable ContentEncoding applied;

    private @Nullable ContentEncoder encoder;
    private ContentEncoder.Mode mode = ContentEncoder.Mode.GATHER;
    private @Nullable ByteBuf rest;
    private long bytes;
    private long encodedBytes;

    CompressedExchange(CompressionFilter filter, CompressionPolicy policy, Http2Headers head, ResponseSink response) {
        this.filter = filter;
        this.policy = policy;
        this.head = head;
        this.response = response;
        this.headRequest = Methods.isHead(head.method());
        int index = AcceptEncoding.choose(head, policy.tokens());
        boolean none = index == AcceptEncoding.IDENTITY || ContentCoding.forbidsTransformation(head);
        this.chosen = none ? null : policy.encodings().get(index);
        this.noneMatch = EncodedRepresentation.restoreConditions(head);
    }

    RequestSink open(FunctionOpener next, boolean end, TrafficPolicy traffic) {
        request = next.open(head, end, this, traffic);
        return this;
    }

    @Override
    public ResponseSink outer() {
        return response;
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        if (request == null) {
            data.release();
        } else {
            request.data(data, end);
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        if (request != null) {
            request.trailers(trailers);
        }
    }

    @Override
    public void cancel(ErrorCode code) {
        stop();
        if (request != null) {
            request.cancel(code);
        }
    }

    @Override
    public void responseTaken(int taken) {
        giveBack(applied == null ? taken : ledger.onTaken(taken));
    }

    /** Returns bytes of the response to the worker's window. */
    private void giveBack(int returned) {
        if (returned > 0 && request != null) {
            request.responseTaken(returned);
        }
    }

    @Override
    public void detach() {
        if (request != null) {
            request.detach();
        }
    }

    @Override
    public long heldBytes() {
        return (request == null ? 0 : request.heldBytes())
                + (encoder == null ? 0 : encoder.memoryBytes())
                + (rest == null ? 0 : rest.readableBytes());
    }

    // From the exchange.

    @Override
    public @Nullable ContentEncoding contentEncoding() {
        return applied == null ? response.contentEncoding() : applied;
    }

    @Override
    public void onHead(Http2Headers fields, boolean end) {
        if (state == State.REQUESTED) {
            state = State.PLAIN;
            int status = StatusCode.parse(fields.status());
            if (status == HttpResponseStatus.NOT_MODIFIED.code()) {
                EncodedRepresentation.describeNotModified(fields, head, noneMatch);
            } else if (status == HttpResponseStatus.PARTIAL_CONTENT.code()) {
                if (policy.hasType(fields.get(HttpHeaderNames.CONTENT_TYPE))
                        || EncodedRepresentation.hasSeveralRanges(fields)) {
                    EncodedRepresentation.describePart(fields);
                }
            } else if (isCompressible(fields)) {
                ContentCoding.addVary(fields);
                if (chosen != null && (headRequest || !end)) {
                    begin(chosen, fields);
                }
            }
        }
        response.onHead(fields, end);
    }

    private boolean isCompressible(Http2Headers fields) {
        return policy.hasType(fields.get(HttpHeaderNames.CONTENT_TYPE))
                && !ContentCoding.isShorter(fields, policy.minBytes())
                && ContentCoding.mayEncode(fields);
    }

    /** The response to HEAD has the same headers as the response to GET. */
    private void begin(ContentEncoding encoding, Http2Headers fields) {
        if (!headRequest) {
            encoder = newEncoder(encoding);
            if (encoder == null) {
                return;
            }
            boolean streams = ContentLength.of(fields) < 0 || ContentCoding.isEventStream(fields);
            mode = streams ? ContentEncoder.Mode.FLUSH : ContentEncoder.Mode.GATHER;
            applied = encoding;
            state = State.ENCODING;
        }
        ContentCoding.encode(fields, encoding.token());
    }

    private @Nullable ContentEncoder newEncoder(ContentEncoding encoding) {
        int memoryBytes = Encoders.memoryBytes(encoding);
        if (!filter.memory().tryTake(memoryBytes)) {
            return null;
        }
        try {
            return filter.newEncoder(encoding);
        } catch (RuntimeException | Error e) {
            filter.memory().giveBack(memoryBytes);
            failures.warn("no encoder for {}", encoding.token(), e);
            return null;
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state != State.ENCODING) {
            response.onData(data, end);
        } else if (!end) {
            encode(data, mode, false);
        } else if (data.readableBytes() <= TURN_BYTES) {
            encode(data, ContentEncoder.Mode.FINISH, true);
        } else {
            state = State.FINISHING;
            rest = data;
            encodeRest();
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state != State.ENCODING || encode(Unpooled.EMPTY_BUFFER, ContentEncoder.Mode.FINISH, false)) {
            response.onTrailers(trailers);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        stop();
        response.onFailure(failure);
    }

    // The body.

    private void encodeRest() {
        ByteBuf data = rest;
        if (data == null) {
            return;
        }
        if (data.readableBytes() <= TURN_BYTES) {
            rest = null;
            encode(data, ContentEncoder.Mode.FINISH, true);
            return;
        }
        encode(data.readRetainedSlice(TURN_BYTES), ContentEncoder.Mode.GATHER, false);
        try {
            filter.loop().execute(this::encodeRest);
        } catch (RejectedExecutionException e) {
            fail(e); // The embedding program has ended the event loop.
        }
    }

    /**
     * @param end whether the response ends here, without trailers
     * @return false if the response has failed, or the client has left when it got its bytes
     */
    private boolean encode(ByteBuf data, ContentEncoder.Mode until, boolean end) {
        ContentEncoder codec = encoder;
        if (codec == null) {
            data.release();
            return false;
        }
        int received = data.readableBytes();
        bytes += received;
        ledger.onReceived(received);
        ByteBuf out = null;
        try {
            out = filter.allocator().directBuffer(Math.max(LEAST_OUTPUT_BYTES, received / 4));
            codec.encode(data, until, out);
        } catch (RuntimeException | Error e) {
            if (out != null) {
                out.release();
            }
            fail(e);
            return false;
        } finally {
            data.release();
        }
        encodedBytes += out.readableBytes();
        if (until == ContentEncoder.Mode.FINISH) {
            onFinished(codec);
        }
        pass(out, end);
        return state != State.STOPPED;
    }

    private void onFinished(ContentEncoder codec) {
        close(codec);
        state = State.ENCODED;
        if (applied != null) {
            filter.onEncoded(applied, bytes, encodedBytes);
        }
    }

    private void pass(ByteBuf out, boolean end) {
        int sent = out.readableBytes();
        if (sent == 0 && !end) {
            out.release();
        } else {
            ledger.onSent(sent);
            response.onData(out, end);
        }
        giveBack(ledger.takeIdle());
    }

    /** The client has headers that promise another body, so its response is cut off. */
    private void fail(Throwable cause) {
        failures.warn("a response to {} {} could not be encoded", head.method(), head.path(), cause);
        cancel(ErrorCode.INTERNAL);
        response.onFailure(new Failure(Failure.Kind.BAD_RESPONSE, "the response could not be encoded"));
    }

    /** Encodes no more. What waits for the client is still returned when it is taken or dropped. */
    private void stop() {
        if (encoder != null) {
            close(encoder);
        }
        state = State.STOPPED;
        ByteBuf dropped = rest;
        if (dropped != null) {
            rest = null;
            giveBack(dropped.readableBytes());
            dropped.release();
        }
        giveBack(ledger.takeIdle());
    }

    private void close(ContentEncoder codec) {
        encoder = null;
        filter.memory().giveBack(codec.memoryBytes());
        codec.close();
    }
}
