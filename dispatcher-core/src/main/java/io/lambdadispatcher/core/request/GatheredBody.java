package io.lambdadispatcher.core.request;

import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Gathers one body up to a limit. Called on one event loop. */
final class GatheredBody implements Flow.Subscriber<ByteBuf> {
    private static final int BAD_GATEWAY = 502;

    private final int maxBytes;
    private final CompletableFuture<byte[]> bytes;
    private final ByteArrayOutputStream gathered = new ByteArrayOutputStream();
    private Flow.@Nullable Subscription subscription;

    /** @param bytes receives the body */
    GatheredBody(int maxBytes, CompletableFuture<byte[]> bytes) {
        if (maxBytes < 0) {
            throw new IllegalArgumentException("maxBytes: " + maxBytes + ", expected 0 or more");
        }
        this.maxBytes = maxBytes;
        this.bytes = bytes;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        subscription = given;
        given.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(ByteBuf part) {
        try {
            int partBytes = part.readableBytes();
            if (partBytes > maxBytes - gathered.size()) {
                tooLong();
                return;
            }
            byte[] copy = new byte[partBytes];
            part.readBytes(copy);
            gathered.writeBytes(copy);
        } finally {
            part.release();
        }
    }

    private void tooLong() {
        if (subscription != null) {
            subscription.cancel();
        }
        bytes.completeExceptionally(new DispatchException(
                "TOO_LARGE",
                BAD_GATEWAY,
                "the response's body is longer than the " + maxBytes
                        + " bytes that are allowed. Allow more, or subscribe to body()",
                Duration.ZERO));
    }

    @Override
    public void onError(Throwable error) {
        bytes.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
        bytes.complete(gathered.toByteArray());
    }
}
