package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.AcceptEncoding;
import io.lambdadispatcher.wire.http.ContentCoding;
import io.lambdadispatcher.wire.http.ContentEncoder.Mode;
import io.lambdadispatcher.wire.http.EncodedRepresentation;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.GzipEncoder;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Compresses a response of the application if the client accepts {@code gzip}. It follows the rules
 * of the AWS Lambda Web Adapter: no images except SVG, no event streams, no gRPC, and nothing below
 * 32 bytes. Each part of a body reaches the client at once, because nobody knows when the next one
 * comes.
 *
 * <p><i>Buffers:</i> releases what it receives when it is encoded. Confined to an event loop.
 */
final class GzippedResponse implements Response {
    private static final int LEVEL = 4;
    private static final int MIN_BYTES = 32;
    private static final int LEAST_OUTPUT_BYTES = 256;

    private static final AsciiString GZIP = AsciiString.cached("gzip");
    private static final AsciiString IMAGE = AsciiString.cached("image/");
    private static final AsciiString SVG = AsciiString.cached("image/svg+xml");

    private final Response response;
    private final Http2Headers requestHead;
    private final boolean headRequest;
    private final boolean accepted;

    /** {@code if-none-match} of the client; {@code null} = none. */
    private final @Nullable String noneMatch;

    private @Nullable GzipEncoder encoder;

    /** Changes the conditions of the request to those of the application's response. */
    GzippedResponse(Request request, Response response) {
        this.response = response;
        this.requestHead = request.headers();
        this.headRequest = Methods.isHead(request.method());
        this.accepted = AcceptEncoding.choose(request.headers(), List.of(GZIP)) != AcceptEncoding.IDENTITY
                && !ContentCoding.forbidsTransformation(request.headers());
        this.noneMatch = EncodedRepresentation.restoreConditions(requestHead);
    }

    /** Returns whether responses to this request may be compressed. */
    static boolean isFor(Request request) {
        return !Methods.isConnect(request.method()) && !Grpc.isCall(request.headers());
    }

    /** Changes the headers of a response that is compressed. */
    private void begin(Http2Headers head) {
        int status = StatusCode.parse(head.status());
        if (status == HttpResponseStatus.NOT_MODIFIED.code()) {
            EncodedRepresentation.describeNotModified(head, requestHead, noneMatch);
            return;
        }
        if (status == HttpResponseStatus.PARTIAL_CONTENT.code() && hasType(head)) {
            EncodedRepresentation.describePart(head);
            return;
        }
        if (!hasType(head) || ContentCoding.isShorter(head, MIN_BYTES) || !ContentCoding.mayEncode(head)) {
            return;
        }
        ContentCoding.addVary(head);
        if (accepted) {
            ContentCoding.encode(head, GZIP);
            encoder = headRequest ? null : new GzipEncoder(LEVEL);
        }
    }

    private static boolean hasType(Http2Headers head) {
        CharSequence type = head.get(HttpHeaderNames.CONTENT_TYPE);
        return type == null
                || !(startsWith(type, IMAGE) && !startsWith(type, SVG) || Grpc.isCall(head))
                        && !ContentCoding.isEventStream(head);
    }

    private static boolean startsWith(CharSequence type, AsciiString prefix) {
        return AsciiString.regionMatches(type, true, 0, prefix, 0, prefix.length());
    }

    private static ByteBuf encode(GzipEncoder codec, ByteBuf data, Mode mode) {
        ByteBuf out = null;
        try {
            out = ByteBufAllocator.DEFAULT.directBuffer(Math.max(LEAST_OUTPUT_BYTES, data.readableBytes() / 4));
            codec.encode(data, mode, out);
            ByteBuf encoded = out;
            out = null;
            return encoded;
        } finally {
            data.release();
            if (out != null) {
                out.release();
            }
        }
    }

    @Override
    public void interim(Http2Headers head) {
        response.interim(head);
    }

    @Override
    public void head(Http2Headers head) {
        begin(head);
        response.head(head);
    }

    @Override
    public boolean write(ByteBuf data) {
        return response.write(encoder == null ? data : encode(encoder, data, Mode.FLUSH));
    }

    @Override
    public boolean isWritable() {
        return response.isWritable();
    }

    @Override
    public void onWritable(Runnable listener) {
        response.onWritable(listener);
    }

    @Override
    public void end() {
        finish();
        response.end();
    }

    @Override
    public void end(Http2Headers trailers) {
        if (encoder != null) {
            ContentCoding.TRAILERS_OF_BYTES.forEach(trailers::remove);
        }
        finish();
        response.end(trailers);
    }

    private void finish() {
        if (encoder != null) {
            response.write(encode(encoder, Unpooled.EMPTY_BUFFER, Mode.FINISH));
            close();
        }
    }

    @Override
    public void respond(Http2Headers head, ByteBuf body) {
        begin(head);
        ByteBuf sent = body;
        if (encoder != null) {
            sent = encode(encoder, body, Mode.FINISH);
            close();
            head.set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(sent.readableBytes())));
        }
        response.respond(head, sent);
    }

    @Override
    public void respond(Http2Headers head) {
        if (headRequest || StatusCode.isBodyless(StatusCode.parse(head.status()))) {
            begin(head);
        }
        response.respond(head);
    }

    @Override
    public void fail(FailureReason code, String text) {
        close();
        response.fail(code, text);
    }

    /** Releases the encoder, because no further call follows. */
    void close() {
        if (encoder != null) {
            encoder.close();
            encoder = null;
        }
    }
}
