package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.SplittableRandom;

/** Runs the same traffic on both paths, each in its own virtual time. */
final class Simulation {
    private static final long STEP_NANOS = 100_000_000;
    /** Time for requests that are in flight when the traffic ends. */
    private static final long MOST_LEFT_NANOS = 60_000_000_000L;

    final SimulationSettings settings;
    final DispatchPath dispatch;
    final DirectPath direct;
    /**
     * Duration of the part of a run whose cost counts, in seconds: the traffic, the time for
     * remaining requests, and the tail.
     */
    final double dispatchSeconds;

    private Simulation(SimulationSettings settings, DispatchPath dispatch, DirectPath direct, double dispatchSeconds) {
        this.settings = settings;
        this.dispatch = dispatch;
        this.direct = direct;
        this.dispatchSeconds = dispatchSeconds;
    }

    static Simulation run(Scenario scenario, SimulationSettings settings) {
        EventQueue time = new EventQueue();
        DispatchPath dispatch = new DispatchPath(time, settings, random(settings, 1));
        time.runUntil(settings.nanos(SimulationSetting.WARM_UP_SECONDS));
        dispatch.startCounting();
        long startNanos = time.nowNanos();
        play(scenario, settings, time, dispatch, dispatch.tally);
        time.runUntil(time.nowNanos() + settings.nanos(SimulationSetting.TAIL_SECONDS));
        dispatch.stopCounting();
        double dispatchSeconds = (time.nowNanos() - startNanos) / 1e9;

        EventQueue otherTime = new EventQueue();
        DirectPath direct = new DirectPath(otherTime, settings, random(settings, 1));
        direct.startCounting();
        play(scenario, settings, otherTime, direct, direct.tally);
        return new Simulation(settings, dispatch, direct, dispatchSeconds);
    }

    private static SplittableRandom random(SimulationSettings settings, int salt) {
        return new SplittableRandom((long) settings.get(SimulationSetting.SEED) * 31 + salt);
    }

    private static void play(
            Scenario scenario, SimulationSettings settings, EventQueue time, Path path, SimulationTally tally) {
        long untilNanos = time.nowNanos() + settings.nanos(SimulationSetting.DURATION_SECONDS);
        Traffic traffic = scenario.traffic(settings, untilNanos);
        traffic.start(time, path, random(settings, 2));
        while (time.nowNanos() < untilNanos && !traffic.isOver()) {
            time.runUntil(Math.min(untilNanos, time.nowNanos() + STEP_NANOS));
        }
        long patienceNanos = time.nowNanos() + MOST_LEFT_NANOS;
        while (time.nowNanos() < patienceNanos && tally.left() > 0) {
            time.runUntil(time.nowNanos() + STEP_NANOS);
        }
    }

    // Cost in dollars.

    double dispatchDollars() {
        return lambdaDollars(dispatch.tally)
                + dispatchSeconds / 3600 * settings.get(SimulationSetting.DISPATCHER_HOUR_DOLLARS);
    }

    double directDollars() {
        return lambdaDollars(direct.tally);
    }

    private double lambdaDollars(SimulationTally tally) {
        return tally.gbSeconds * settings.get(SimulationSetting.GB_SECOND_DOLLARS)
                + tally.invokes * settings.get(SimulationSetting.MILLION_REQUESTS_DOLLARS) / 1e6;
    }
}
