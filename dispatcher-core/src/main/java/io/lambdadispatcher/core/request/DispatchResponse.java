package io.lambdadispatcher.core.request;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * A response to an embedder.
 *
 * @param status 200 to 999
 * @param headers all fields, {@code :status} included; the embedder's to change
 * @param body to be subscribed to once, or cancelled, else the worker stream stays busy for ever. Buffers are the subscriber's to release;
 *     what is not asked for waits in the worker. {@code onError} with a {@link DispatchException} if the response is cut short
 * @param trailers completes with the body; without fields if there are none; exceptionally if the response is cut short
 */
public record DispatchResponse(
        int status, Http2Headers headers, Flow.Publisher<ByteBuf> body, CompletionStage<Http2Headers> trailers) {}
