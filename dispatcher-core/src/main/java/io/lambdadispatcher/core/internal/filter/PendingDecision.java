package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.spi.Decision;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A decision that a filter has not made at once. Confined to the client's event loop. */
final class PendingDecision {
    private final EventLoop loop;
    private final Runnable onLate;
    private @Nullable Future<?> timer;
    private @Nullable CompletionStage<Decision> asked;

    /** @param onLate called once if the decision takes too long */
    PendingDecision(EventLoop loop, Runnable onLate) {
        this.loop = loop;
        this.onLate = onLate;
    }

    boolean isTimed() {
        return timer != null;
    }

    /** @param nanos {@code Long.MAX_VALUE} = without a limit */
    void waitAtMost(long nanos) {
        if (timer != null) {
            timer.cancel(false);
        }
        timer = nanos == Long.MAX_VALUE ? null : loop.schedule(onLate, nanos, TimeUnit.NANOSECONDS);
    }

    /** @param then gets the decision or an error on the event loop, unless this is stopped */
    void ask(CompletionStage<Decision> decision, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
        asked = decision;
        decision.whenComplete((decided, error) -> {
            Loops.execute(loop, () -> {
                if (asked == decision) {
                    asked = null;
                    then.accept(decided, error);
                }
            });
        });
    }

    /** Ends the wait, and cancels what was asked. */
    void stop() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
        CompletionStage<Decision> its = asked;
        asked = null;
        if (its != null) {
            try {
                its.toCompletableFuture().cancel(true);
            } catch (UnsupportedOperationException e) {
                // It cannot be cancelled.
            }
        }
    }
}
