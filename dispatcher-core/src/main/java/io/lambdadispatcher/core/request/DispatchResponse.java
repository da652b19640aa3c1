package io.lambdadispatcher.core.request;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.util.AsciiString;
import java.io.ByteArrayOutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
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

    private static final int BAD_GATEWAY = 502;

    private final int status;
    private final Iterable<Map.Entry<CharSequence, CharSequence>> headers;
    private final Flow.Publisher<ByteBuf> body;
    private final Runnable discard;
    private final CompletionStage<Map<String, List<String>>> trailers;

    /**
     * Creates a response. Used by the dispatcher, and by tests of programs that embed it.
     *
     * @param headers with names in lower case. Each character is one byte
     * @param discard the action of {@link #discard}
     */
    public DispatchResponse(
            int status,
            Iterable<Map.Entry<CharSequence, CharSequence>> headers,
            Flow.Publisher<ByteBuf> body,
            Runnable discard,
            CompletionStage<Map<String, List<String>>> trailers) {
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
        Map<String, String> all = new LinkedHashMap<>(headers);
        all.keySet().removeIf(HttpHeaderNames.CONTENT_LENGTH::contentEqualsIgnoreCase);
        all.put("content-length", Integer.toString(body.length));
        return of(status, all, to -> to.onSubscribe(new OneBuffer(to, Unpooled.wrappedBuffer(body))));
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
        headers.forEach((name, value) -> {
            OutgoingHeaders.verifyName(name);
            all.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
        });
        return new DispatchResponse(status, all, body, () -> {}, CompletableFuture.completedFuture(Map.of()));
    }

    /** Returns the status, 200 to 999. */
    public int status() {
        return status;
    }

    /**
     * Returns all values by name, in the order of their first appearance. Names are in lower case,
     * and values are text as in {@link #header}. Not modifiable.
     */
    public Map<String, List<String>> headers() {
        return HeaderMaps.of(headers);
    }

    /**
     * Calls {@code action} with the name and value of each header as they were received: each
     * character is one byte.
     */
    public void forEachHeader(BiConsumer<CharSequence, CharSequence> action) {
        headers.forEach(header -> {
            if (header.getKey().charAt(0) != ':') {
                action.accept(header.getKey(), header.getValue());
            }
        });
    }

    /**
     * Returns the first value of a header as text: UTF-8, or ISO 8859-1 if it is not valid UTF-8.
     * {@code null} if there is none.
     *
     * @param name the name in lower case
     */
    public @Nullable String header(CharSequence name) {
        for (Map.Entry<CharSequence, CharSequence> header : headers) {
            if (AsciiString.contentEquals(header.getKey(), name)) {
                return HeaderText.decode(header.getValue());
            }
        }
        return null;
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
     * Gathers the body. Cancelling the stage's future cancels the response.
     *
     * @param maxBytes the maximum size of the body, in bytes
     * @return the body. The stage fails with {@link DispatchException} if the response is
     *     incomplete, or if the dispatcher closes before all of it is read. It also fails if the
     *     body is too long, and then the response is cancelled
     */
    public CompletionStage<byte[]> bodyAsBytes(int maxBytes) {
        if (maxBytes < 0) {
            throw new IllegalArgumentException("maxBytes: " + maxBytes + ", expected 0 or more");
        }
        ByteArrayOutputStream gathered = new ByteArrayOutputStream();
        return read(part -> gather(part, gathered, maxBytes), gathered::toByteArray);
    }

    private static void gather(ByteBuf part, ByteArrayOutputStream to, int maxBytes) {
        if (part.readableBytes() > maxBytes - to.size()) {
            throw new DispatchException(
                    "TOO_LARGE",
                    BAD_GATEWAY,
                    "the response's body is longer than the " + maxBytes
                            + " bytes that are allowed. Allow more, or subscribe to body()",
                    Duration.ZERO);
        }
        byte[] copy = new byte[part.readableBytes()];
        part.readBytes(copy);
        to.writeBytes(copy);
    }

    /**
     * Reads the body to its end and drops it, so that the handler can finish. Cancelling the
     * stage's future cancels the response.
     *
     * @return completes as that of {@link #bodyAsBytes(int)}, for a body of any length
     */
    public CompletionStage<Void> drain() {
        return read(part -> {}, () -> null);
    }

    private <T> CompletionStage<T> read(Consumer<ByteBuf> onPart, Supplier<@Nullable T> onEnd) {
        // Like the dispatcher's other stages, it refuses to be waited for on an event loop.
        CompletableFuture<T> result = trailers.toCompletableFuture().newIncompleteFuture();
        body.subscribe(new ReadBody<>(result, onPart, onEnd));
        return result;
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
     * Returns the trailers as {@link #headers} does. The stage completes when the body has ended,
     * and is empty if there are no trailers. It fails if the response is incomplete.
     */
    public CompletionStage<Map<String, List<String>>> trailers() {
        return trailers;
    }
}
