package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.policy.Comparison;
import io.lambdadispatcher.core.internal.policy.WorkerHealth;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot.State;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Changes the workers of one function to the version that the launcher names, for example because
 * an alias has moved. A few workers of the new version are watched first. If they fail more often
 * than the others, the change stops, and the old version keeps serving.
 *
 * <pre>
 * STEADY → CANARY → ROLLING → STEADY
 *   ↑         ↓         ↓
 *   |_______ STOPPED ←__|    and back to CANARY if an operator resumes, or for a third version
 * </pre>
 *
 * From each state, it returns to STEADY if the launcher names the old version again. While the
 * state is STEADY, the launcher chooses the version of new workers. Otherwise, this class does.
 *
 * <p>In a fleet, all dispatchers share the {@link RolloutPhase}. One of them, the conductor,
 * decides that it changes, except that each can stop the change. Without a fleet, the dispatcher is
 * the conductor. Confined to the controller's thread.
 */
public final class Rollout {
    private static final int MOST_FAILED_LAUNCHES = 3;

    private static final int FEWEST_SLOW_SECONDS = 5;
    /**
     * A worker that was ejected only once may have had a few slow requests. It serves again some
     * seconds later.
     */
    private static final int FEWEST_EJECTIONS = 2;

    /** What the old version did more than about ten minutes ago does not count. */
    private static final double DECAY = Math.exp(-1.0 / 600);

    /**
     * The part of this dispatcher in its fleet.
     *
     * @param self its id; empty if there is no fleet
     * @param conducts whether it decides
     * @param launcher who should launch the canaries
     */
    public record Seat(String self, boolean conducts, String launcher) {
        static final Seat ALONE = new Seat("", true, "");
    }

    private enum Wish {
        NONE,
        STOP,
        RESUME
    }

    /** What the workers of one version did. */
    private static final class Tally implements Comparison.Results {
        double completed;
        double failed;
        double slow;

        void add(WorkerDemand second) {
            completed += second.completed();
            failed += second.failed();
            slow += second.slow();
        }

        void decay() {
            completed *= DECAY;
            failed *= DECAY;
            slow *= DECAY;
        }

        @Override
        public double completed() {
            return completed;
        }

        @Override
        public double failed() {
            return failed;
        }

        double slowShare() {
            return completed == 0 ? 0 : slow / completed;
        }
    }

    private LaunchLimits limits;
    private Seat seat = Seat.ALONE;
    private @Nullable RolloutPhase phase;
    private @Nullable String proposal;
    private String adopted = "";
    /** The version that the launcher names; {@code null} = it has not answered yet. */
    private @Nullable String named;

    private Wish wish = Wish.NONE;
    private boolean surprised;

    private Comparison<Tally> seen = new Comparison<>(new Tally(), new Tally(), new Tally());
    /** Seconds of a worker of the new version with requests. */
    private int judgedSeconds;
    /** Those in which most of its requests were slow. A worker that has just started has a few. */
    private int slowSeconds;

    private long secondNanos;
    /** Whether a canary was ready at the latest second. */
    private boolean watching;
    /** For how long at least one canary was ready. */
    private long watchedNanos;

    private int failedLaunches;
    private String lastFailure = "";

    Rollout(LaunchLimits limits) {
        this.limits = limits;
    }

    void setLimits(LaunchLimits value) {
        limits = value;
    }

    // Events.

    /** Records which version the launcher names; empty = it knows no versions. */
    void onNamed(String version) {
        named = version;
    }

    /** Stops a change that has begun. The old version keeps serving. */
    void stop() {
        wish = Wish.STOP;
    }

    /** Continues a stopped change with new canaries. */
    void resume() {
        wish = Wish.RESUME;
    }

    /**
     * Takes the phase that the fleet, or the dispatcher before a restart, had.
     *
     * @param text empty if there is none. A phase that a newer version of this library has written
     *     counts as none
     */
    public void adopt(String text, Seat as) {
        seat = as;
        if (!as.conducts()) {
            // It will be old when this dispatcher becomes the conductor again.
            named = null;
        }
        adopt(text);
    }

    void adopt(String text) {
        if (!text.equals(adopted)) {
            adopted = text;
            enter(parsed(text));
        }
    }

    private static @Nullable RolloutPhase parsed(String text) {
        try {
            return text.isEmpty() ? null : RolloutPhase.parse(text);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** Returns the phase, as {@link #adopt} takes it. */
    public String text() {
        return text(phase);
    }

    private static String text(@Nullable RolloutPhase of) {
        return of == null ? "" : of.text();
    }

    /**
     * Returns the phase that this dispatcher wants the fleet to have next, or {@code null} if it
     * wants no change.
     */
    public @Nullable String proposal() {
        return proposal;
    }

    /** Returns the dispatcher that launches the canaries of a phase; empty if there is none. */
    public static String launcher(String text) {
        RolloutPhase phase = parsed(text);
        return phase == null ? "" : phase.launcher();
    }

    private void enter(@Nullable RolloutPhase next) {
        RolloutPhase last = phase;
        phase = next;
        proposal = null;
        if (next != null && last != null && next.isSameStep(last)) {
            return;
        }
        boolean complete = next != null
                && next.is(State.STEADY)
                && last != null
                && last.is(State.ROLLING)
                && next.version().equals(last.next());
        Tally old = complete ? seen.fresh() : seen.old();
        boolean begins = next != null && next.is(State.CANARY);
        seen = new Comparison<>(new Tally(), begins ? new Tally() : old, begins ? old : seen.earlier());
        judgedSeconds = 0;
        slowSeconds = 0;
        watching = false;
        watchedNanos = 0;
        failedLaunches = 0;
    }

    /** Records what a worker did in the last second. */
    void onExchanges(WorkerLife worker, WorkerDemand second) {
        if (!isNext(worker)) {
            seen.old().add(second);
            return;
        }
        seen.fresh().add(second);
        if (second.completed() > 0 && seen.baseline().completed >= Comparison.FEWEST_COMPARED) {
            judgedSeconds++;
            slowSeconds += 2 * second.slow() > second.completed() ? 1 : 0;
        }
    }

    private boolean isSlow() {
        Tally fresh = seen.fresh();
        double before =
                Math.max(1 / (seen.baseline().completed + 1), seen.baseline().slowShare());
        return slowSeconds >= FEWEST_SLOW_SECONDS
                && slowSeconds > judgedSeconds / 2
                && WorkerHealth.isWorse(fresh.slow, fresh.completed, before);
    }

    /** Records that a launched worker is ready for the first time. */
    void onReady(WorkerLife worker) {
        boolean otherThanExpected = phase != null
                && phase.is(State.STEADY)
                && phase.version().equals(named)
                && !worker.version.isEmpty()
                && !worker.version.equals(named);
        surprised |= otherThanExpected;
    }

    /** Returns true once, if the launcher seems to name another version than before. */
    public boolean isSurprised() {
        boolean value = surprised;
        surprised = false;
        return value;
    }

    /** Records that a worker has been ready for some time. */
    void onSettled(WorkerLife worker) {
        if (isNext(worker)) {
            failedLaunches = 0;
        }
    }

    /**
     * Records that a worker has failed.
     *
     * @return whether that is the fault of the new version, so that it says nothing about launches
     *     of the old one
     */
    boolean onFailed(WorkerLife worker, WorkerExit exit) {
        // A worker that the launcher lost says nothing about its version, unless it did not start.
        boolean unrelated = exit.cause() == Cause.THROTTLED
                || exit.cause() == Cause.NOT_READY
                || exit.cause() == Cause.UNAVAILABLE
                || exit.cause() == Cause.LOST && !worker.wasKilled();
        if (unrelated || !isNext(worker)) {
            return false;
        }
        failedLaunches += exit.cause() == Cause.REFUSED ? MOST_FAILED_LAUNCHES : 1;
        lastFailure = exit.detail();
        return true;
    }

    private boolean isNext(WorkerLife worker) {
        return phase != null && !phase.next().isEmpty() && phase.next().equals(worker.version);
    }

    // What the controller asks.

    /** Returns the version of the next worker to be launched; empty = the launcher chooses. */
    String launchVersion(boolean canary) {
        if (phase == null) {
            return "";
        }
        return switch (phase.state()) {
            case STEADY -> "";
            case CANARY -> canary ? phase.next() : phase.version();
            case ROLLING -> phase.next();
            case STOPPED -> phase.version();
        };
    }

    /** Returns whether the worker serves beside the others, until its version has been watched. */
    boolean isCanary(WorkerLife worker) {
        return phase != null && phase.is(State.CANARY) && isNext(worker);
    }

    /**
     * Returns how many canaries another dispatcher may have launched that are not connected yet.
     * They do not replace other workers.
     */
    int unseenCanaries(int wanted, WorkerLives workers) {
        return launchesCanaries()
                ? 0
                : Math.max(0, canaries(wanted) - workers.count(worker -> isCanary(worker) && stays(worker)));
    }

    /** Returns how many canaries there should be. */
    int canaries(int wanted) {
        return phase != null && phase.is(State.CANARY) && wanted > 0
                ? Math.max(1, (int) (wanted * limits.canaryShare()))
                : 0;
    }

    boolean launchesCanaries() {
        return phase != null && phase.launcher().equals(seat.self());
    }

    /** Returns the workers of this dispatcher that must be replaced because of their version. */
    List<WorkerLife> outdated(WorkerLives workers) {
        RolloutPhase now = phase;
        return now == null || now.next().isEmpty()
                ? List.of()
                : workers.all().stream()
                        .filter(worker -> worker.ours && worker.everReady() && !worker.version.isEmpty())
                        .filter(worker -> isOutdated(now, worker))
                        .toList();
    }

    private boolean isOutdated(RolloutPhase now, WorkerLife worker) {
        return switch (now.state()) {
            case STEADY -> isNext(worker);
            case CANARY -> !isNext(worker) && !worker.version.equals(now.version());
            case ROLLING -> !isNext(worker);
            case STOPPED -> !worker.version.equals(now.version());
        };
    }

    // Decisions.

    /**
     * Decides whether the phase changes. Must be called every second.
     *
     * @param mayBegin whether workers of a previous dispatcher have had the time to dial in
     */
    void onSecond(long nowNanos, WorkerLives workers, boolean mayBegin) {
        seen.old().decay();
        boolean ready = phase != null && phase.is(State.CANARY) && workers.count(this::isReadyCanary) > 0;
        watchedNanos += watching && ready ? nowNanos - secondNanos : 0;
        watching = ready;
        secondNanos = nowNanos;
        RolloutPhase next = decide(workers, mayBegin);
        if (Objects.equals(next, phase)) {
            proposal = null;
        } else if (seat.self().isEmpty()) {
            enter(next);
        } else {
            proposal = text(next);
        }
    }

    private boolean isReadyCanary(WorkerLife worker) {
        return isCanary(worker) && worker.is(WorkerLife.State.READY) && !worker.isEjected();
    }

    private @Nullable RolloutPhase decide(WorkerLives workers, boolean mayBegin) {
        RolloutPhase now = phase;
        forgetVainWish(now);
        if (now != null) {
            String reason = reasonToStop(now, workers);
            if (reason != null) {
                return now.stopped(reason);
            }
            if (now.is(State.STOPPED) && wish == Wish.RESUME) {
                return canary(now.version(), now.next());
            }
        }
        if (!seat.conducts() || named == null) {
            return now;
        }
        if (named.isEmpty()) {
            return null;
        }
        if (now == null) {
            return mayBegin ? first(named, workers) : null;
        }
        if (named.equals(now.version())) {
            return returned(now, workers);
        }
        return switch (now.state()) {
            case STEADY -> canary(now.version(), named);
            case CANARY -> named.equals(now.next()) ? watched(now) : canary(now.version(), named);
            case ROLLING -> named.equals(now.next()) ? rolled(now, workers) : canary(now.next(), named);
            case STOPPED -> named.equals(now.next()) ? now : canary(now.version(), named);
        };
    }

    private void forgetVainWish(@Nullable RolloutPhase now) {
        boolean stoppable = now != null && isChanging(now);
        boolean resumable = now != null && now.is(State.STOPPED);
        if (wish == Wish.STOP && !stoppable || wish == Wish.RESUME && !resumable) {
            wish = Wish.NONE;
        }
    }

    private static boolean isChanging(RolloutPhase now) {
        return now.is(State.CANARY) || now.is(State.ROLLING);
    }

    private RolloutPhase canary(String version, String next) {
        return RolloutPhase.canary(version, next, seat.launcher());
    }

    /** Begins with the version that most workers have. They may be of an earlier process. */
    private RolloutPhase first(String version, WorkerLives workers) {
        Map<String, Integer> counts = new HashMap<>();
        for (WorkerLife worker : workers.ready()) {
            if (!worker.version.isEmpty()) {
                counts.merge(worker.version, 1, Integer::sum);
            }
        }
        String most = counts.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse(version);
        return most.equals(version) ? RolloutPhase.steady(version, "") : canary(most, version);
    }

    /** The launcher names the old version, still or again. */
    private RolloutPhase returned(RolloutPhase now, WorkerLives workers) {
        boolean left = workers.count(worker -> isNext(worker) && stays(worker)) > 0;
        return RolloutPhase.steady(now.version(), left || !now.is(State.STEADY) ? now.next() : "");
    }

    private RolloutPhase watched(RolloutPhase now) {
        if (watchedNanos >= limits.canaryTime().toNanos() && watchedNanos > 0) {
            return now.rolling();
        }
        return canary(now.version(), now.next());
    }

    private RolloutPhase rolled(RolloutPhase now, WorkerLives workers) {
        boolean fleet = !seat.self().isEmpty();
        int left = workers.count(
                worker -> stays(worker) && !isNext(worker) && (worker.ours || fleet && !worker.version.isEmpty()));
        return left == 0 ? RolloutPhase.steady(now.next(), "") : now;
    }

    private static boolean stays(WorkerLife worker) {
        return !worker.is(WorkerLife.State.DRAINING) && !worker.is(WorkerLife.State.GONE);
    }

    private @Nullable String reasonToStop(RolloutPhase now, WorkerLives workers) {
        if (!isChanging(now)) {
            return null;
        }
        if (wish == Wish.STOP) {
            return Comparison.BY_OPERATOR;
        }
        if (failedLaunches >= MOST_FAILED_LAUNCHES) {
            return "workers of version " + now.next() + " fail: " + lastFailure;
        }
        for (WorkerLife worker : workers.ready()) {
            if (isCanary(worker) && worker.isEjected() && worker.ejections() >= FEWEST_EJECTIONS) {
                return "worker " + worker.id + " was ejected: " + worker.ejection();
            }
        }
        String failure = seen.failure("version " + now.next(), "version " + now.version());
        if (failure != null) {
            return failure;
        }
        return isSlow()
                ? String.format(
                        Locale.ROOT,
                        "%.0f %% of the requests to version %s were slow, %.0f %% to version %s",
                        seen.fresh().slowShare() * 100,
                        now.next(),
                        seen.baseline().slowShare() * 100,
                        now.version())
                : null;
    }

    /** Returns what an operator sees; {@code null} if the launcher names no version. */
    @Nullable
    RolloutSnapshot snapshot(WorkerLives workers) {
        return phase == null
                ? null
                : new RolloutSnapshot(
                        phase.state(),
                        phase.version(),
                        phase.next(),
                        workers.count(worker -> isNext(worker) && worker.is(WorkerLife.State.READY)),
                        phase.reason());
    }
}
