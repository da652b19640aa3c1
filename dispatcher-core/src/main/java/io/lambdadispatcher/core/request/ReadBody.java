package io.lambdadispatcher.core.request;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads one body to its end, or until nobody waits for the result. Called on one event loop.
 *
 * @param <T> what becomes of the body
 */
final class ReadBody<T> implements Flow.Subscriber<ByteBuf> {
    private final CompletableFuture<T> result;
    private final Consumer<ByteBuf> onPart;
    private final Supplier<@Nullable T> onEnd;

    /**
     * @param result receives what {@code onEnd} returns
     * @param onPart called with each part, which this class releases. If it throws, that is the
     *     result
     */
    ReadBody(CompletableFuture<T> result, Consumer<ByteBuf> onPart, Supplier<@Nullable T> onEnd) {
        this.result = result;
        this.onPart = onPart;
        this.onEnd = onEnd;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        result.whenComplete((value, error) -> {
            if (error != null) {
                given.cancel();
            }
        });
        given.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(ByteBuf part) {
        try {
            if (!result.isDone()) {
                onPart.accept(part);
            }
        } catch (Throwable e) {
            result.completeExceptionally(e);
        } finally {
            part.release();
        }
    }

    @Override
    public void onError(Throwable error) {
        result.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
        try {
            result.complete(onEnd.get());
        } catch (Throwable e) {
            result.completeExceptionally(e);
        }
    }
}
