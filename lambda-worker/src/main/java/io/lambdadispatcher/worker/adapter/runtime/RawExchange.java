package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BodyBuffer;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * An ordinary invoke: the event goes to the child, and what it answers comes back, both as they
 * are.
 */
final class RawExchange implements Answer {
    private final int maxBytes;
    private final CompletableFuture<byte[]> result = new CompletableFuture<>();

    /** @param maxBytes of a streamed answer; one in a piece has its limit already */
    RawExchange(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Exceptionally with an {@link IOException} that says what the child said. */
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

    private void fail(String text) {
        result.completeExceptionally(new IOException(text));
    }

    /** Lambda's Java runtime takes answers in one piece only. */
    @Override
    public Stream onStream(String contentType, Runnable resume) {
        BodyBuffer whole = BodyBuffer.ofArray(-1, maxBytes);
        return new Stream() {
            @Override
            public boolean onBytes(ByteBuf bytes) {
                if (!whole.add(bytes)) {
                    fail("a response of more than " + maxBytes + " bytes");
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
