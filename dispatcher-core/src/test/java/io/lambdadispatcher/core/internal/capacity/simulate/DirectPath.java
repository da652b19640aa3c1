package io.lambdadispatcher.core.internal.capacity.simulate;

import java.util.ArrayDeque;
import java.util.random.RandomGenerator;

/**
 * One invocation for each request. The free environment that was used last serves it. If none is
 * free, a new environment starts. The bill counts each millisecond, including initialisation (AWS
 * has done so for all functions since August 2025). The load balancer or gateway in front is not
 * billed.
 */
final class DirectPath implements Path {
    private static final long MILLI_NANOS = 1_000_000;

    private record Idle(long untilNanos) {}

    private final EventQueue time;
    private final SimulationSettings settings;
    private final RandomGenerator random;
    private final Durations service;
    private final Durations start;
    private final ArrayDeque<Idle> idle = new ArrayDeque<>();
    private int busy;

    final SimulationTally tally = new SimulationTally();
    int mostBusy;

    DirectPath(EventQueue time, SimulationSettings settings, RandomGenerator random) {
        this.time = time;
        this.settings = settings;
        this.random = random;
        this.service = settings.directService();
        this.start = settings.directStart();
    }

    /** Starts the traffic. */
    void startCounting() {
        for (int i = 0; i < settings.count(SimulationSetting.DIRECT_WARM); i++) {
            keep();
        }
    }

    @Override
    public void onRequest(Caller caller) {
        tally.onArrival(time.nowNanos());
        boolean warm = isWarm();
        if (!warm && busy >= settings.accountLimit(time.nowNanos() - tally.firstNanos)) {
            tally.launchThrottles++;
            refuse(caller);
            return;
        }
        busy++;
        mostBusy = Math.max(mostBusy, busy);
        tally.launches += warm ? 0 : 1;
        if (!warm && random.nextDouble() < settings.get(SimulationSetting.FAILURE_PROBABILITY)) {
            fail(caller);
        } else {
            serve(warm ? 0 : start.draw(random), caller);
        }
    }

    private void refuse(Caller caller) {
        tally.refused++;
        caller.onEnd(false);
    }

    private void fail(Caller caller) {
        tally.launchFailures++;
        long nanos = settings.nanos(SimulationSetting.FAILURE_SECONDS);
        bill(nanos);
        time.after(nanos, () -> {
            busy--;
            refuse(caller);
        });
    }

    private void serve(long coldNanos, Caller caller) {
        long arrivedNanos = time.nowNanos();
        long serviceNanos = service.draw(random);
        tally.onServed(coldNanos);
        bill(coldNanos + serviceNanos);
        time.after(coldNanos + serviceNanos, () -> {
            busy--;
            keep();
            tally.onAnswer(time.nowNanos(), time.nowNanos() - arrivedNanos);
            caller.onEnd(true);
        });
    }

    private boolean isWarm() {
        Idle last = idle.pollLast();
        while (last != null && last.untilNanos < time.nowNanos()) {
            last = idle.pollLast();
        }
        return last != null;
    }

    private void keep() {
        long kept = settings.nanos(SimulationSetting.DIRECT_KEPT_SECONDS);
        idle.addLast(new Idle(time.nowNanos() + (long) (kept * (2 + 2 * random.nextDouble()) / 3)));
    }

    private void bill(long nanos) {
        long millis = (nanos + MILLI_NANOS - 1) / MILLI_NANOS;
        tally.invokes++;
        tally.gbSeconds += settings.get(SimulationSetting.DIRECT_MEGABYTES) / 1024 * millis / 1000;
    }
}
