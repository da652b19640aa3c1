package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.observe.CanarySnapshot;
import io.lambdadispatcher.core.observe.CanarySnapshot.State;
import io.lambdadispatcher.core.options.CanaryPolicy;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Raises the share of a canary step by step while it is as good as the function that it may
 * replace. If it is not, the share returns to zero.
 *
 * <pre>
 * CANARY (step 1 → 2 → … ) → COMPLETE
 *    ↑  ↓                       ↓
 *    STOPPED ←__________________|   (by an operator)
 * </pre>
 *
 * <p>Both sides are compared since the beginning of the step. At 100 %, nothing is left to compare
 * with, so the results of the last step that had enough count. Requests tell the time: without
 * them, nothing changes.
 *
 * <p>Any thread. Event loops count without a lock. Only a change of the state takes one.
 */
public final class CanarySteps {
    /** A step does not end with fewer requests of the canary. */
    private static final int FEWEST_REQUESTS = 50;

    private static final String SEPARATOR = "\t";
    private static final double QUANTILE = 0.99;
    private static final int TIMES_SLOWER = 2;
    private static final long NANOS_SLOWER = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Is told about changes, for the log. */
    public interface Listener {
        void onShare(int percent, State state);

        void onStopped(String reason);
    }

    /** A step, and what it has counted. A request belongs to the step in which it began. */
    public record Step(int percent, long startNanos, Comparison<CanaryResults> seen) {
        CanaryResults results(boolean ofCanary) {
            return ofCanary ? seen.fresh() : seen.old();
        }
    }

    /** @param step {@code null} unless the state is CANARY */
    private record Phase(State state, @Nullable Step step, int percent, String reason) {}

    private final String function;
    private final Listener listener;
    private final LongAdder requests = new LongAdder();
    private final LongAdder failures = new LongAdder();
    private volatile CanaryPolicy policy;
    private volatile Phase phase;
    private volatile long nextLookNanos;

    public CanarySteps(String function, CanaryPolicy policy, Listener listener, long nowNanos) {
        this.function = function;
        this.policy = policy;
        this.listener = listener;
        this.nextLookNanos = nowNanos + LOOK_NANOS;
        this.phase = step(percentAfter(0), new CanaryResults(), nowNanos);
    }

    private Phase step(int percent, CanaryResults earlier, long nowNanos) {
        Comparison<CanaryResults> seen = new Comparison<>(new CanaryResults(), new CanaryResults(), earlier);
        Step step = new Step(percent, nowNanos, seen);
        return new Phase(State.CANARY, step, percent, "");
    }

    /** Returns the first step that is larger than a share, or the last step if none is. */
    private int percentAfter(int percent) {
        int step = 0;
        for (int each : policy.steps()) {
            step = each;
            if (step > percent) {
                break;
            }
        }
        return step;
    }

    /** Returns the state, as {@link #restore} takes it. */
    public String text() {
        Phase now = phase;
        return String.join(
                SEPARATOR, now.state().name(), policy.function(), Integer.toString(now.percent()), now.reason());
    }

    /**
     * Continues with the state that a dispatcher before this one had. A step that was being watched
     * begins with the first step, because nothing is left to compare with. The same applies if the
     * text is of another canary, or not known.
     */
    public synchronized void restore(String text) {
        String[] parts = text.split(SEPARATOR, 4);
        if (parts.length < 4 || !parts[1].equals(policy.function())) {
            return;
        }
        int last = policy.steps().get(policy.steps().size() - 1);
        if (parts[0].equals(State.STOPPED.name())) {
            stop(parts[3]);
        } else if (parts[0].equals(State.COMPLETE.name()) && parts[2].equals(Integer.toString(last))) {
            enter(new Phase(State.COMPLETE, null, last, ""));
        }
    }

    /**
     * Replaces the policy. The share stays until the next larger step. If it was the last step, a
     * larger one begins now. If all new steps are smaller, the share falls to the last of them.
     */
    public synchronized void setPolicy(CanaryPolicy value, long nowNanos) {
        policy = value;
        Phase now = phase;
        int next = percentAfter(now.percent());
        boolean rises = now.state() == State.COMPLETE && next > now.percent();
        boolean falls = now.state() != State.STOPPED && next < now.percent();
        if (rises || falls) {
            enter(step(next, new CanaryResults(), nowNanos));
        }
    }

    /** Returns the canary's share of the requests now, in percent. */
    public int percent() {
        return phase.percent();
    }

    /** Returns the step whose requests must be counted; {@code null} if none must. */
    public @Nullable Step step() {
        return phase.step();
    }

    /**
     * Counts a response.
     *
     * @param in what {@link #step} returned when the request began
     * @param ofCanary whether the canary has served the request
     * @param failed whether the client gets 5xx
     */
    public void onResponse(Step in, boolean ofCanary, boolean failed, long nanos, long nowNanos) {
        in.results(ofCanary).add(failed, nanos);
        if (ofCanary) {
            requests.increment();
            failures.add(failed ? 1 : 0);
        }
        look(in, ofCanary && failed, nowNanos);
    }

    /** Counts a response that was cut off after {@link #onResponse}. */
    public void onCutOff(Step in, boolean ofCanary, long nowNanos) {
        in.results(ofCanary).addFailure();
        if (ofCanary) {
            failures.increment();
        }
        look(in, ofCanary, nowNanos);
    }

    private void look(Step in, boolean now, long nowNanos) {
        if (phase.step() == in && (now || nowNanos - nextLookNanos >= 0)) {
            nextLookNanos = nowNanos + LOOK_NANOS;
            decide(nowNanos);
        }
    }

    // Transitions.

    private synchronized void decide(long nowNanos) {
        Step step = phase.step();
        if (step == null) {
            return;
        }
        String reason = reasonToStop(step.seen());
        if (reason != null) {
            stop(reason);
            return;
        }
        boolean watched = nowNanos - step.startNanos() >= policy.stepTime().toNanos()
                && step.seen().fresh().completed() >= FEWEST_REQUESTS;
        if (!watched) {
            return;
        }
        int next = percentAfter(step.percent());
        if (next > step.percent()) {
            enter(step(next, step.seen().baseline(), nowNanos));
        } else {
            enter(new Phase(State.COMPLETE, null, step.percent(), ""));
        }
    }

    private void enter(Phase next) {
        phase = next;
        listener.onShare(next.percent(), next.state());
    }

    private void stop(String reason) {
        phase = new Phase(State.STOPPED, null, 0, reason);
        listener.onStopped(reason);
    }

    /**
     * Takes all requests from the canary.
     *
     * @return false if it had none already
     */
    public synchronized boolean stop() {
        boolean running = phase.state() != State.STOPPED;
        if (running) {
            stop(Comparison.BY_OPERATOR);
        }
        return running;
    }

    /**
     * Begins again with the first step.
     *
     * @return false if the canary was not stopped
     */
    public synchronized boolean resume(long nowNanos) {
        boolean stopped = phase.state() == State.STOPPED;
        if (stopped) {
            requests.reset();
            failures.reset();
            enter(step(percentAfter(0), new CanaryResults(), nowNanos));
        }
        return stopped;
    }

    private @Nullable String reasonToStop(Comparison<CanaryResults> seen) {
        CanaryResults old = seen.baseline();
        CanaryResults canary = seen.fresh();
        // The first step is 100 %, or the function had hardly any request.
        boolean alone = old.completed() == 0;
        if (alone && canary.completed() < FEWEST_REQUESTS) {
            return null;
        }
        String failure = seen.failure("canary " + policy.function(), "function " + function);
        if (alone || failure != null) {
            return failure;
        }
        long p99 = old.quantileNanos(QUANTILE);
        long slow = Math.max(TIMES_SLOWER * p99, p99 + NANOS_SLOWER);
        return Comparison.isHigher(canary.slowerThan(slow), canary.completed(), old.slowerThan(slow), old.completed())
                ? String.format(
                        Locale.ROOT,
                        "its p99 is %.0f ms, that of function %s %.0f ms",
                        canary.quantileNanos(QUANTILE) / 1e6,
                        function,
                        p99 / 1e6)
                : null;
    }

    public CanarySnapshot snapshot() {
        Phase now = phase;
        return new CanarySnapshot(
                function, policy.function(), now.state(), now.percent(), requests.sum(), failures.sum(), now.reason());
    }
}
