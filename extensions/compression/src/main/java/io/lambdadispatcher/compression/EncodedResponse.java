package io.lambdadispatcher.compression;

import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.wire.http.AcceptEncoding;
import io.lambdadispatcher.wire.http.ContentCoding;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.EncodedRepresentation;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One response that may be compressed. The conditions of its request are those of the application's
 * representation from now on. Confined to the client's event loop.
 */
final class EncodedResponse implements ResponseFilter {
    /** How much of a body that arrives as one piece is encoded in one turn of the event loop. */
    private static final int TURN_BYTES = 32 * 1024;

    private static final int LEAST_OUTPUT_BYTES = 256;

    private static final Logger log = LoggerFactory.getLogger(ResponseCompression.class);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final AtomicLong nextLog = new AtomicLong(Long.MIN_VALUE);

    private final ResponseCompression filter;
    private final CompressionPolicy policy;
    private final MediaTypes types;
    private final RequestContext request;
    private final EncoderMemory memory;

    /** What the rules read of the request, as the application gets it. */
    private final FlatHeaders head;

    /** The encoding that the client likes best; {@code null} = none. */
    private final @Nullable ContentEncoding chosen;

    /** {@code if-none-match} of the client; {@code null} = none. */
    private final @Nullable String noneMatch;

    /** {@code null} = the body passes through unchanged, or has ended. */
    private @Nullable ContentEncoder encoder;

    /** Whether its headers, and so its trailers, are those of an encoded response. */
    private boolean encoded;

    private ContentEncoder.Mode mode = ContentEncoder.Mode.GATHER;
    private long bytes;
    private long encodedBytes;

    EncodedResponse(ResponseCompression filter, CompressionPolicy policy, MediaTypes types, RequestContext request) {
        this.filter = filter;
        this.policy = policy;
        this.types = types;
        this.request = request;
        memory = filter.memory(request);
        head = HeaderCopy.ofRequest(request.headers());
        head.method(request.method());
        int index = AcceptEncoding.choose(head, policy.tokens());
        boolean none = index == AcceptEncoding.IDENTITY || ContentCoding.forbidsTransformation(head);
        chosen = none ? null : policy.encodings().get(index);
        noneMatch = EncodedRepresentation.restoreConditions(head);
        HeaderCopy.writeRequest(head, request.headers());
    }

    @Override
    public void onHead(int status, HeaderFields headers, boolean hasBody) {
        if (status != HttpResponseStatus.NOT_MODIFIED.code()
                && status != HttpResponseStatus.PARTIAL_CONTENT.code()
                && !types.has(headers.get("content-type"))) {
            return;
        }
        FlatHeaders fields = HeaderCopy.ofResponse(headers);
        fields.status(Integer.toString(status));
        if (status == HttpResponseStatus.NOT_MODIFIED.code()) {
            EncodedRepresentation.describeNotModified(fields, head, noneMatch);
        } else if (status == HttpResponseStatus.PARTIAL_CONTENT.code()) {
            if (types.has(fields.get(HttpHeaderNames.CONTENT_TYPE)) || EncodedRepresentation.hasSeveralRanges(fields)) {
                EncodedRepresentation.describePart(fields);
            }
        } else if (isCompressible(fields)) {
            ContentCoding.addVary(fields);
            if (chosen != null && (isToHead() || hasBody)) {
                begin(chosen, fields);
            }
        }
        HeaderCopy.writeResponse(fields, headers);
    }

    private boolean isCompressible(FlatHeaders fields) {
        return !ContentCoding.isShorter(fields, policy.minBytes()) && ContentCoding.mayEncode(fields);
    }

    /** The response to HEAD has the same headers as the response to GET. */
    private void begin(ContentEncoding encoding, FlatHeaders fields) {
        if (!isToHead()) {
            encoder = newEncoder(encoding);
            if (encoder == null) {
                return;
            }
            boolean streams = ContentLength.of(fields) < 0 || ContentCoding.isEventStream(fields);
            mode = streams ? ContentEncoder.Mode.FLUSH : ContentEncoder.Mode.GATHER;
        }
        ContentCoding.encode(fields, encoding.ascii());
        encoded = true;
    }

    private boolean isToHead() {
        return Methods.isHead(head.method());
    }

    private @Nullable ContentEncoder newEncoder(ContentEncoding encoding) {
        int memoryBytes = Encoders.memoryBytes(encoding);
        if (!memory.tryTake(memoryBytes)) {
            return null;
        }
        try {
            return filter.newEncoder(encoding);
        } catch (RuntimeException | Error e) {
            memory.giveBack(memoryBytes);
            logFailure(encoding, e);
            return null;
        }
    }

    /** At most every 10 s. */
    private static void logFailure(ContentEncoding encoding, Throwable cause) {
        long now = System.nanoTime();
        long next = nextLog.get();
        if ((next == Long.MIN_VALUE || now - next >= 0) && nextLog.compareAndSet(next, now + LOG_NANOS)) {
            log.warn("no encoder for {}", encoding.token(), cause);
        }
    }

    @Override
    public int turnBytes() {
        return encoder == null ? Integer.MAX_VALUE : TURN_BYTES;
    }

    @Override
    public long heldBytes() {
        return encoder == null ? 0 : encoder.memoryBytes();
    }

    @Override
    public ByteBuf onData(ByteBuf data, boolean last) {
        return encoder == null ? data : encode(encoder, data, last ? ContentEncoder.Mode.GATHER : mode);
    }

    @Override
    public ByteBuf onBodyEnd() {
        ContentEncoder codec = encoder;
        if (codec == null) {
            return Unpooled.EMPTY_BUFFER;
        }
        ByteBuf last = encode(codec, Unpooled.EMPTY_BUFFER, ContentEncoder.Mode.FINISH);
        try {
            close(codec);
            report();
            return last;
        } catch (RuntimeException | Error e) {
            last.release();
            throw e;
        }
    }

    @Override
    public void onTrailers(HeaderFields trailers) {
        if (encoded) {
            ContentCoding.TRAILERS_OF_BYTES.forEach(name -> trailers.remove(name.toString()));
        }
    }

    private ByteBuf encode(ContentEncoder codec, ByteBuf data, ContentEncoder.Mode until) {
        int received = data.readableBytes();
        bytes += received;
        ByteBuf out = null;
        try {
            out = filter.allocator().directBuffer(Math.max(LEAST_OUTPUT_BYTES, received / 4));
            codec.encode(data, until, out);
            encodedBytes += out.readableBytes();
            return out;
        } catch (RuntimeException | Error e) {
            if (out != null) {
                out.release();
            }
            throw e;
        } finally {
            data.release();
        }
    }

    private void report() {
        if (chosen == null) {
            return;
        }
        Map<String, String> labels = Map.of("encoding", chosen.token());
        request.report(FilterEvent.counted(
                "compressed.responses", "Responses that the dispatcher compressed to their end", labels));
        request.report(FilterEvent.counted(
                "compressed.original.body.bytes",
                "Bytes of the bodies of compressed responses before they were compressed",
                labels,
                bytes));
        request.report(FilterEvent.counted(
                "compressed.body.bytes", "Bytes of the bodies of compressed responses", labels, encodedBytes));
    }

    @Override
    public void onEnd(@Nullable String failure) {
        if (encoder != null) {
            close(encoder);
        }
    }

    private void close(ContentEncoder codec) {
        encoder = null;
        memory.giveBack(codec.memoryBytes());
        codec.close();
    }
}
