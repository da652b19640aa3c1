package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.spi.Decision;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A decision that a filter has not made at once. Confined to the client's event loop. */
final class PendingDecision {
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final EventLoop loop;
    private final Runnable onLate;
    private @Nullable Future<?> timer;
    private @Nullable CompletionStage<? extends Decision> asked;

    /** What is decided when the wait has taken too long; {@code null} = the request fails. */
    private @Nullable Decision otherwise;

    /** @param onLate called once if the decision takes too long */
    PendingDecision(EventLoop loop, Runnable onLate) {
        this.loop = loop;
        this.onLate = onLate;
    }

    /** @param leftNanos 0 = the deadline has passed */
    static Failure late(long leftNanos) {
        return leftNanos == 0
                ? new Failure(Failure.Kind.DEADLINE_EXCEEDED, "a filter has not decided within the deadline")
                : new Failure(Failure.Kind.FILTER_FAILED, "a filter has not decided within 10 s");
    }

    /** Returns once what is decided when the wait has taken too long. */
    @Nullable
    Decision takeOtherwise() {
        Decision its = otherwise;
        otherwise = null;
        return its;
    }

    /** @param nanos {@code Long.MAX_VALUE} = without a limit */
    void waitAtMost(long nanos) {
        if (timer != null) {
            timer.cancel(false);
        }
        timer = nanos == Long.MAX_VALUE ? null : loop.schedule(onLate, nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * @param leftNanos until the deadline
     * @param then gets the decision or an error on the event loop, unless this is stopped
     */
    void ask(Decision.Later later, long leftNanos, BiConsumer<@Nullable Decision, @Nullable Throwable> then) {
        Duration atMost = later.atMost();
        if (atMost != null) {
            waitAtMost(Math.min(TimeUnit.NANOSECONDS.convert(atMost), leftNanos));
        } else if (timer == null) {
            waitAtMost(Math.min(MAX_WAIT_NANOS, leftNanos));
        }
        otherwise = later.otherwise();
        CompletionStage<? extends Decision> decision = later.decision();
        asked = decision;
        decision.whenComplete((decided, error) -> {
            Loops.execute(loop, () -> {
                if (asked == decision) {
                    asked = null;
                    if (otherwise != null) {
                        // Its time was for this decision only.
                        otherwise = null;
                        waitAtMost(Long.MAX_VALUE);
                    }
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
        CompletionStage<? extends Decision> its = asked;
        asked = null;
        if (its != null) {
            try {
                its.toCompletableFuture().cancel(true);
            } catch (RuntimeException e) {
                // It cannot be cancelled.
            }
        }
    }
}
