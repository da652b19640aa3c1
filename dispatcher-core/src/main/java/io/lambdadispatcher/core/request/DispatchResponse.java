package io.lambdadispatcher.core.request;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A response to an embedding program. Its body must be subscribed to, gathered or discarded, once.
 * Until then it keeps its worker stream busy, and after {@link
 * io.lambdadispatcher.core.options.HttpLimits#writeTimeout} it is cancelled. Any thread.
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
     * For the dispatcher, and for tests of programs that embed it.
     *
     * @param discard what {@link #discard} does
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

    /** Returns 200 to 999. */
    public int status() {
        return status;
    }

    /**
     * Returns all headers, {@code :status} included. They are the embedding program's to change, on
     * one thread.
     */
    public Http2Headers headers() {
        return headers;
    }

    /**
     * Returns the first value of a header, or {@code null} if there is none.
     *
     * @param name in lower case
     */
    public @Nullable String header(CharSequence name) {
        CharSequence value = headers.get(name);
        return value == null ? null : value.toString();
    }

    /**
     * Returns the body as it arrives. The subscriber is called on an event loop, which it must not
     * block, and must release each buffer. What it does not request waits in the worker. {@code
     * onError} receives a {@link DispatchException} if the response breaks off.
     */
    public Flow.Publisher<ByteBuf> body() {
        return body;
    }

    /** {@link #bodyAsBytes(int)} with {@link #DEFAULT_MAX_BODY_BYTES}. */
    public CompletionStage<byte[]> bodyAsBytes() {
        return bodyAsBytes(DEFAULT_MAX_BODY_BYTES);
    }

    /**
     * Gathers the body.
     *
     * @return fails with {@link DispatchException} if the response breaks off, or if the body is
     *     longer than {@code maxBytes}, which cancels it
     */
    public CompletionStage<byte[]> bodyAsBytes(int maxBytes) {
        GatheredBody gathered = new GatheredBody(maxBytes);
        body.subscribe(gathered);
        return gathered.bytes();
    }

    /** {@link #bodyAsString(int)} with {@link #DEFAULT_MAX_BODY_BYTES}. */
    public CompletionStage<String> bodyAsString() {
        return bodyAsString(DEFAULT_MAX_BODY_BYTES);
    }

    /**
     * Gathers the body as {@link #bodyAsBytes(int)} does, and decodes it as {@code content-type}
     * says. Default: UTF-8.
     */
    public CompletionStage<String> bodyAsString(int maxBytes) {
        String type = header(HttpHeaderNames.CONTENT_TYPE);
        Charset charset = type == null ? StandardCharsets.UTF_8 : HttpUtil.getCharset(type, StandardCharsets.UTF_8);
        return bodyAsBytes(maxBytes).thenApply(bytes -> new String(bytes, charset));
    }

    /**
     * Discards the body: what has arrived is released, and the rest is cancelled. Has no effect if
     * somebody reads the body.
     */
    public void discard() {
        discard.run();
    }

    /**
     * Completes when the body has ended, with empty headers if there are no trailers. Fails if the
     * response breaks off.
     */
    public CompletionStage<Http2Headers> trailers() {
        return trailers;
    }
}
