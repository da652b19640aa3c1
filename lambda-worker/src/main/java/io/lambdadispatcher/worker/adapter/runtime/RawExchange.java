package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BodyBuffer;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * An ordinary invocation: the event goes to the child and its result comes back, both unmodified.
 */
final class RawExchange implements Answer {
    private final int maxBytes;
    private final CompletableFuture<byte[]> result = new CompletableFuture<>();

    /**
     * @param maxBytes the maximum size of a streamed response. Other responses are limited before
     */
    RawExchange(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Returns the result. Fails with an {@link IOException} that has the child's error message. */
    CompletionStage<byte[]> result() {
        return result.copy();
    }

    @Override
    public void onWhole(byte[] payload) {
        result.complete(payload);
    }

    @Override
    public void onError(String type, byte[] details) {
        fail(type + ": " + new String(details, StandardCharsets.UTF_8));
    }

    @Override
    public void onFailed(Failure why, String text) {
        fail(text);
    }

    /** @return whether there was no result before */
    private boolean fail(String text) {
        return result.completeExceptionally(new IOException(text));
    }

    /** Gathers the stream, because Lambda's Java runtime accepts only complete results. */
    @Override
    public Stream onStream(String contentType, Runnable resume, Runnable stop) {
        BodyBuffer whole = BodyBuffer.ofArray(-1, maxBytes);
        return new Stream() {
            @Override
            public boolean onBytes(ByteBuf bytes) {
                if (!whole.add(bytes) && fail("a response of more than " + maxBytes + " bytes")) {
                    stop.run();
                }
                return true;
            }

            @Override
            public void onEnd() {
                result.complete(whole.toArray());
            }

            @Override
            public void onBroken(String text) {
                fail(text);
            }
        };
    }
}
