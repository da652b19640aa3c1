package io.lambdadispatcher.core.request;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A response to an embedding program. Subscribe to its body, gather it, or discard it, exactly
 * once. Until then, the response keeps its worker stream busy. After {@link
 * io.lambdadispatcher.core.options.HttpLimits#writeTimeout}, the response is cancelled.
 *
 * <p><b>Threading.</b> All methods can be called on any thread.
 */
public final class DispatchResponse {
    /** The maximum that {@link #bodyAsBytes()} and {@link #bodyAsString()} gather, in bytes. */
    public static final int DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024;

    private final int status;
    private final Http2Headers headers;
    private final Flow.Publisher<ByteBuf> body;
    private final Runnable discard;
    private final CompletionStage<Http2Headers> trailers;

    /**
     * Creates a response. Used by the dispatcher, and by tests of programs that embed it.
     *
     * @param discard the action of {@link #discard}
     */
    public DispatchResponse(
            int status,
            Http2Headers headers,
            Flow.Publisher<ByteBuf> body,
            Runnable discard,
            CompletionStage<Http2Headers> trailers) {
        this.status = status;
        this.headers = headers;
        this.body = body;
        this.discard = discard;
        this.trailers = trailers;
    }

    /**
     * Creates a response of an {@link io.lambdadispatcher.core.spi.AsyncInProcessHandler}, with its
     * {@code content-length}.
     *
     * @param headers by name, in any case. Values are sent as UTF-8
     * @param body must not be changed afterwards
     * @throws IllegalArgumentException if the status is not one of 200 to 999, or if a header
     *     cannot be sent
     */
    public static DispatchResponse of(int status, Map<String, String> headers, byte[] body) {
        DispatchResponse response =
                of(status, headers, to -> to.onSubscribe(new OneBuffer(to, Unpooled.wrappedBuffer(body))));
        response.headers.set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(body.length)));
        return response;
    }

    /**
     * Creates a response of an {@link io.lambdadispatcher.core.spi.AsyncInProcessHandler}, whose
     * body is sent as it is published.
     *
     * @param headers by name, in any case. Values are sent as UTF-8
     * @param body the dispatcher owns each buffer after {@code onNext}. Not subscribed to if the
     *     client needs no body
     * @throws IllegalArgumentException if the status is not one of 200 to 999, or if a header
     *     cannot be sent
     */
    public static DispatchResponse of(int status, Map<String, String> headers, Flow.Publisher<ByteBuf> body) {
        if (!StatusCode.isFinal(status) || status > 999) {
            throw new IllegalArgumentException("status " + status + ", expected 200 to 999");
        }
        FlatHeaders all = new FlatHeaders();
        all.status(AsciiString.of(Integer.toString(status)));
        headers.forEach((name, value) -> {
            OutgoingHeaders.verifyName(name);
            all.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
        });
        return new DispatchResponse(
                status, all, body, () -> {}, CompletableFuture.completedFuture(EmptyHttp2Headers.INSTANCE));
    }

    /** Returns the status, 200 to 999. */
    public int status() {
        return status;
    }

    /**
     * Returns all headers, including {@code :status}. The embedding program may change them, on one
     * thread at a time.
     */
    public Http2Headers headers() {
        return headers;
    }

    /**
     * Returns the first value of a header as text: UTF-8, or ISO 8859-1 if it is not valid UTF-8.
     * {@code null} if there is none.
     *
     * @param name the name in lower case
     */
    public @Nullable String header(CharSequence name) {
        CharSequence value = headers.get(name);
        return value == null ? null : HeaderText.decode(value);
    }

    /**
     * Returns a publisher of the body as it arrives. The subscriber is called on an event loop,
     * which it must not block. It must release each buffer. If it requests no more buffers, flow
     * control pauses the worker. {@code onError} receives a {@link DispatchException} if the
     * response is incomplete, or if the dispatcher closes before all of it is read.
     */
    public Flow.Publisher<ByteBuf> body() {
        return body;
    }

    /** Gathers a body of at most {@link #DEFAULT_MAX_BODY_BYTES}. See {@link #bodyAsBytes(int)}. */
    public CompletionStage<byte[]> bodyAsBytes() {
        return bodyAsBytes(DEFAULT_MAX_BODY_BYTES);
    }

    /**
     * Gathers the body.
     *
     * @param maxBytes the maximum size of the body, in bytes
     * @return the body. The stage fails with {@link DispatchException} if the response is
     *     incomplete, or if the dispatcher closes before all of it is read. It also fails if the
     *     body is too long, and then the response is cancelled
     */
    public CompletionStage<byte[]> bodyAsBytes(int maxBytes) {
        // Like the dispatcher's other stages, it refuses to be waited for on an event loop.
        CompletableFuture<byte[]> bytes = trailers.toCompletableFuture().newIncompleteFuture();
        body.subscribe(new GatheredBody(maxBytes, bytes));
        return bytes;
    }

    /**
     * Gathers a text of at most {@link #DEFAULT_MAX_BODY_BYTES}. See {@link #bodyAsString(int)}.
     */
    public CompletionStage<String> bodyAsString() {
        return bodyAsString(DEFAULT_MAX_BODY_BYTES);
    }

    /**
     * Gathers the body as {@link #bodyAsBytes(int)} does, and decodes it with the charset of {@code
     * content-type}. Default: UTF-8.
     */
    public CompletionStage<String> bodyAsString(int maxBytes) {
        String type = header(HttpHeaderNames.CONTENT_TYPE);
        Charset charset = type == null ? StandardCharsets.UTF_8 : HttpUtil.getCharset(type, StandardCharsets.UTF_8);
        return bodyAsBytes(maxBytes).thenApply(bytes -> new String(bytes, charset));
    }

    /**
     * Discards the body. Releases the part that has arrived, and cancels the rest. Has no effect if
     * the body has a subscriber.
     */
    public void discard() {
        discard.run();
    }

    /**
     * Returns the trailers. The stage completes when the body has ended, with empty headers if
     * there are no trailers. It fails if the response is incomplete.
     */
    public CompletionStage<Http2Headers> trailers() {
        return trailers;
    }
}
