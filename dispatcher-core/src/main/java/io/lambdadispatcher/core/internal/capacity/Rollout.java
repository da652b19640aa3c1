package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot.State;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.options.RolloutPolicy;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Changes the workers of one function to the version that the launcher names, for example because
 * an alias has moved. A few workers of the new version are watched first, and more of them in each
 * step of {@link RolloutPolicy}. If they fail more often than the others, or their p99 is higher,
 * the change stops, and the old version keeps serving.
 *
 * <pre>
 * STEADY → WATCHING (step 1 → 2 → … ) → ROLLING → STEADY
 *   ↑         ↓                            ↓
 *   |_______ STOPPED ←_____________________|    and back to WATCHING if an operator resumes, or
 *                                               for a third version
 * </pre>
 *
 * From each state, it returns to STEADY if the launcher names the old version again. While the
 * state is STEADY and the launcher itself names the version, too, the launcher chooses the version
 * of new workers. Otherwise, this class does.
 *
 * <p>The base only changes the answer of the launcher: if a version matches that of the base, the
 * launcher names this one. It serves there already. So it is not watched, and the state becomes
 * ROLLING at once. It can still be stopped. While the answer is not certain, the phase stays.
 *
 * <p>In a fleet, all dispatchers share the {@link RolloutPhase}. One of them, the conductor,
 * decides that it changes, except that each can stop the change. Without a fleet, the dispatcher is
 * the conductor. Confined to the controller's thread.
 */
public final class Rollout {
    private static final int MOST_FAILED_LAUNCHES = 3;

    /**
     * A worker that was ejected only once may have had a few slow requests. It serves again some
     * seconds later.
     */
    private static final int FEWEST_EJECTIONS = 2;

    /** What the old version did more than 20 minutes ago does not count. */
    private static final int PERIOD_SECONDS = 600;

    /**
     * The part of this dispatcher in a change that its fleet shares.
     *
     * @param self its id; empty if there is no fleet
     * @param conducts whether it decides
     * @param launcher who should launch the watched workers
     * @param phase the phase of the fleet; empty if there is none. A phase that a newer version of
     *     this library has written counts as none
     */
    public record Seat(String self, boolean conducts, String launcher, String phase) {
        static final Seat ALONE = new Seat("", true, "", "");
    }

    private enum Wish {
        NONE,
        STOP,
        RESUME
    }

    private final VersionComparison comparison = new VersionComparison();
    private final BaseVersion base = new BaseVersion();
    private LaunchLimits limits;
    private Seat seat = Seat.ALONE;
    private @Nullable RolloutPhase phase;
    private @Nullable String proposal;
    private String adopted = "";

    private Wish wish = Wish.NONE;
    private boolean surprised;

    private int seconds;
    private long secondNanos;
    /** Whether a watched worker was ready at the latest second. */
    private boolean watching;
    /** For how long at least one watched worker was ready in this step. */
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

    /** Records which version the launcher names. */
    public void onNamed(NamedVersion version) {
        base.onNamed(version);
    }

    /** Stops a change that has begun. The old version keeps serving. */
    public void stop() {
        wish = Wish.STOP;
    }

    /** Begins a stopped change again with the first step. */
    public void resume() {
        wish = Wish.RESUME;
    }

    /** Takes the phase and the part that the dispatcher now has in its fleet. */
    void take(Seat as) {
        seat = as;
        if (!as.conducts()) {
            // It will be old when this dispatcher becomes the conductor again.
            base.onNamed(null);
        }
        adopt(as.phase());
    }

    /** Takes the phase that the fleet, or the dispatcher before a restart, had. */
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
    @Nullable
    String proposal() {
        return proposal;
    }

    /** Returns the dispatcher that launches the watched workers; empty if there is none. */
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
        if (next != null && begins(last, next)) {
            comparison.begin();
        } else if (next != null && last != null && completes(last, next)) {
            comparison.complete();
        } else {
            comparison.end();
        }
        watching = false;
        watchedNanos = 0;
        failedLaunches = 0;
    }

    /** Returns whether both versions are compared from now on. */
    private static boolean begins(@Nullable RolloutPhase last, RolloutPhase next) {
        return next.is(State.WATCHING) || next.is(State.ROLLING) && (last == null || !last.is(State.WATCHING));
    }

    private static boolean completes(RolloutPhase last, RolloutPhase next) {
        return next.is(State.STEADY) && last.is(State.ROLLING) && next.version().equals(last.next());
    }

    /** Records what a worker did in the last second. */
    void onExchanges(long nowNanos, WorkerLife worker, WorkerDemand second) {
        comparison.add(isNext(worker), second, worker.readyNanos(nowNanos));
    }

    /** Records that a launched worker is ready for the first time. */
    void onReady(WorkerLife worker) {
        NamedVersion answer = base.answer();
        boolean otherThanExpected = phase != null
                && phase.is(State.STEADY)
                && answer != null
                && phase.version().equals(answer.version())
                && !worker.version.isEmpty()
                && !worker.version.equals(answer.version());
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

    /**
     * Returns the version of the next worker to be launched; empty = the launcher chooses.
     *
     * @param watched whether it is launched to be watched
     */
    String launchVersion(boolean watched) {
        if (phase == null) {
            return "";
        }
        return switch (phase.state()) {
            // So that the launcher can use what it keeps for its own version.
            case STEADY -> phase.isOfBase() ? phase.version() : "";
            case WATCHING -> watched ? phase.next() : phase.version();
            case ROLLING, STOPPED -> phase.launchVersion();
        };
    }

    /** Returns whether the worker serves beside the others, until its version has been watched. */
    boolean isWatched(WorkerLife worker) {
        return phase != null && phase.is(State.WATCHING) && isNext(worker);
    }

    /**
     * Returns how many watched workers another dispatcher may have launched that are not connected
     * yet. They do not replace other workers.
     */
    int unseenWatched(int wanted, WorkerLives workers) {
        return launchesWatched()
                ? 0
                : Math.max(0, watchedWorkers(wanted) - workers.count(worker -> isWatched(worker) && stays(worker)));
    }

    /** Returns how many watched workers there should be. */
    int watchedWorkers(int wanted) {
        return phase != null && phase.is(State.WATCHING) && wanted > 0
                ? Math.max(1, (int) ((long) wanted * phase.percent() / 100))
                : 0;
    }

    boolean launchesWatched() {
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
            case WATCHING -> !isNext(worker) && !worker.version.equals(now.version());
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
        base.onSecond(workers);
        if (++seconds % PERIOD_SECONDS == 0 && (phase == null || !isChanging(phase))) {
            comparison.rotate();
        }
        boolean ready = workers.count(this::isReadyAndWatched) > 0;
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

    private boolean isReadyAndWatched(WorkerLife worker) {
        return isWatched(worker) && worker.is(WorkerLife.State.READY) && !worker.isEjected();
    }

    private @Nullable RolloutPhase decide(WorkerLives workers, boolean mayBegin) {
        RolloutPhase now = phase;
        forgetVainWish(now);
        if (limits.rollout().isOff() && seat.conducts()) {
            // A stopped change would otherwise keep the old version forever.
            return null;
        }
        if (now != null) {
            String reason = reasonToStop(now, workers);
            if (reason != null) {
                return now.stopped(reason);
            }
            if (now.is(State.STOPPED) && wish == Wish.RESUME) {
                return firstStep(now.version(), now.next());
            }
        }
        NamedVersion answer = base.answer();
        if (!seat.conducts() || answer == null || !mayBegin || needsBase(now)) {
            return now;
        }
        String named = answer.version();
        if (named.isEmpty()) {
            return null;
        }
        if (now == null) {
            return first(named, workers);
        }
        if (named.equals(now.version())) {
            return returned(now, workers);
        }
        boolean same = named.equals(now.next());
        return switch (now.state()) {
            case STEADY -> firstStep(now.version(), named);
            case WATCHING -> same ? watched(now) : firstStep(now.version(), named);
            case ROLLING -> same ? rolled(now, workers) : firstStep(proven(now, workers), named);
            case STOPPED -> same ? now : firstStep(now.version(), named);
        };
    }

    /**
     * Returns whether the phase depends on the version of a base that has not dialled in since the
     * start of this dispatcher.
     */
    private boolean needsBase(@Nullable RolloutPhase now) {
        return now != null && now.isOfBase() && base.isAwaited();
    }

    private void forgetVainWish(@Nullable RolloutPhase now) {
        boolean stoppable = now != null && isChanging(now);
        boolean resumable = now != null && now.is(State.STOPPED);
        if (wish == Wish.STOP && !stoppable || wish == Wish.RESUME && !resumable) {
            wish = Wish.NONE;
        }
    }

    private static boolean isChanging(RolloutPhase now) {
        return now.is(State.WATCHING) || now.is(State.ROLLING);
    }

    private RolloutPhase firstStep(String version, String next) {
        RolloutPhase first = step(version, next, limits.rollout().stepAfter(0));
        return base.leadsTo(next) ? first.rolling(true) : first;
    }

    private RolloutPhase step(String version, String next, int percent) {
        return RolloutPhase.watching(version, next, percent, seat.launcher());
    }

    /** Begins with the version that most workers have. They may be of an earlier process. */
    private RolloutPhase first(String version, WorkerLives workers) {
        Map<String, Integer> counts = new HashMap<>();
        for (WorkerLife worker : workers.readyLaunched()) {
            if (!worker.version.isEmpty()) {
                counts.merge(worker.version, 1, Integer::sum);
            }
        }
        String most = counts.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .map(Map.Entry::getKey)
                .orElse(version);
        return most.equals(version) ? steady(version, "") : firstStep(most, version);
    }

    /** The launcher names the old version, still or again. */
    private RolloutPhase returned(RolloutPhase now, WorkerLives workers) {
        boolean left = workers.count(worker -> isNext(worker) && stays(worker)) > 0;
        return steady(now.version(), left || !now.is(State.STEADY) ? now.next() : "");
    }

    private RolloutPhase steady(String version, String abandoned) {
        NamedVersion answer = base.answer();
        return RolloutPhase.steady(
                version, abandoned, answer != null && !answer.own().equals(version));
    }

    private RolloutPhase watched(RolloutPhase now) {
        RolloutPolicy policy = limits.rollout();
        if (base.leadsTo(now.next())) {
            return now.rolling(true);
        }
        if (watchedNanos < policy.stepTime().toNanos() || !comparison.isConclusive()) {
            return step(now.version(), now.next(), now.percent());
        }
        int percent = policy.stepAfter(now.percent());
        return percent == 0 ? now.rolling(false) : step(now.version(), now.next(), percent);
    }

    private RolloutPhase rolled(RolloutPhase now, WorkerLives workers) {
        boolean fleet = !seat.self().isEmpty();
        int left = workers.count(
                worker -> stays(worker) && !isNext(worker) && (worker.ours || fleet && isForeign(worker)));
        // Without workers of either version, the old one is still needed if the new one fails.
        return left == 0 && isProven(workers) ? steady(now.next(), "") : now;
    }

    /** Returns whether a launched worker has served for some time with the next version. */
    private boolean isProven(WorkerLives workers) {
        return workers.count(worker -> isNext(worker) && !worker.isBase() && worker.isSettled()) > 0;
    }

    private String proven(RolloutPhase now, WorkerLives workers) {
        return isProven(workers) ? now.next() : now.version();
    }

    /** Returns whether another dispatcher of the fleet has launched the worker. */
    private static boolean isForeign(WorkerLife worker) {
        return !worker.isBase() && !worker.version.isEmpty();
    }

    private static boolean stays(WorkerLife worker) {
        return !worker.is(WorkerLife.State.DRAINING) && !worker.is(WorkerLife.State.GONE);
    }

    private @Nullable String reasonToStop(RolloutPhase now, WorkerLives workers) {
        if (!isChanging(now)) {
            return null;
        }
        if (wish == Wish.STOP) {
            return "an operator has stopped it";
        }
        if (failedLaunches >= MOST_FAILED_LAUNCHES) {
            return "workers of version " + now.next() + " fail: " + lastFailure;
        }
        for (WorkerLife worker : workers.ready()) {
            if (isWatched(worker) && worker.isEjected() && worker.ejections() >= FEWEST_EJECTIONS) {
                return "worker " + worker.id + " was ejected: " + worker.ejection();
            }
        }
        return comparison.problem(now.next(), now.version());
    }

    /** Returns the version that the base states; empty if it states none. */
    public String baseVersion() {
        return base.stated();
    }

    /**
     * Returns how the versions of the base and of launched workers differ, in one line, or {@code
     * null} if they do not. In a fleet, only the conductor knows that.
     */
    @Nullable
    String baseDifference() {
        return base.difference(phase, !limits.rollout().isOff());
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
                        phase.percent(),
                        workers.count(worker -> isNext(worker) && worker.is(WorkerLife.State.READY)),
                        phase.is(State.STOPPED) ? phase.reason() : "");
    }
}
