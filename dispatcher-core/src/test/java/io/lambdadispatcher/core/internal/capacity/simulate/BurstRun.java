package io.lambdadispatcher.core.internal.capacity.simulate;

import static io.lambdadispatcher.core.internal.capacity.simulate.SimulationSetting.*;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/** Traffic on a base and on the workers that the production controller launches beside it. */
final class BurstRun {
    static final long SECOND = 1_000_000_000;
    /** Requests that arrive so soon after a step of the traffic count as those of a spike. */
    private static final double SPIKE_SECONDS = 5;
    /** A step by this factor is a spike. */
    private static final double SPIKE_FACTOR = 1.2;
    /**
     * The least number of launches is that of one who knows the future, and keeps workers so long.
     */
    private static final int KEPT_SECONDS = 60;

    final EventQueue time = new EventQueue();
    final DispatchPath path;
    /** When the traffic begins. */
    final long beginNanos;

    private final SimulationSettings settings;
    private final double[] perSecond;
    private final double binSeconds;
    private final double dispersion;

    BurstRun(SimulationSettings settings, double dispersion, double binSeconds, double... perSecond) {
        this.settings = settings;
        this.perSecond = perSecond;
        this.binSeconds = binSeconds;
        this.dispersion = dispersion;
        this.path = new DispatchPath(time, settings, random(1));
        time.runUntil(2 * SECOND);
        beginNanos = time.nowNanos();
        path.startCounting();
        path.isCalm = this::isCalm;
        start(time, path);
    }

    /**
     * Returns settings: requests of 200 ms in the mean and with a heavy tail, a maximum that is
     * never reached, and the measured medians of starts with 512 MB
     * (docs/performance/measurements.md).
     */
    static SimulationSettings settings(int baseWorkers, int baseStreams) {
        return SimulationSettings.defaults()
                .with(SERVICE_MILLIS, 200 / Math.exp(0.5))
                .with(SERVICE_SIGMA, 1)
                .with(BASE_WORKERS, baseWorkers)
                .with(BASE_STREAMS, baseStreams)
                .with(MAX_WORKERS, 10_000)
                .with(LAUNCHES_PER_MINUTE, 10_000)
                .with(QUEUE_LIMIT, 100_000)
                .with(COLD_START_SECONDS, 1.6)
                .with(DEADLINE_SECONDS, 86_400);
    }

    private SplittableRandom random(int salt) {
        return new SplittableRandom((long) settings.get(SEED) * 31 + salt);
    }

    private void start(EventQueue queue, Path to) {
        Modulated rate = new Modulated(perSecond, binSeconds, dispersion, random(2));
        long untilNanos = queue.nowNanos() + (long) (perSecond.length * binSeconds * SECOND);
        new Traffic.Open(rate.highest(), rate, untilNanos).start(queue, to, random(3));
    }

    private boolean isCalm(long arrivedNanos) {
        double seconds = (arrivedNanos - beginNanos) / 1e9;
        int bin = Math.min(perSecond.length - 1, (int) (seconds / binSeconds));
        boolean step = bin == 0 || perSecond[bin] > SPIKE_FACTOR * perSecond[bin - 1];
        return !step || seconds - bin * binSeconds > SPIKE_SECONDS;
    }

    BurstRun runUntil(double seconds) {
        time.runUntil(beginNanos + (long) (seconds * SECOND));
        return this;
    }

    BurstRun runAll() {
        return runUntil(perSecond.length * binSeconds + 10);
    }

    /** Returns the state at the latest evaluation. */
    Timeline.Look latest() {
        List<Timeline.Look> looks = path.timeline.looks;
        return looks.get(looks.size() - 1);
    }

    /**
     * Returns the launches that one needs who knows all arrivals: the sum of the rises of the
     * workers that the mean concurrency of each second needs beside the base. A worker is kept if
     * it is needed again within a minute.
     */
    int leastLaunches() {
        List<Integer> needed = new Unlimited().needed();
        int launches = 0;
        int before = 0;
        for (int second = 0; second < needed.size(); second++) {
            int ahead = 0;
            for (int i = second; i < Math.min(needed.size(), second + KEPT_SECONDS); i++) {
                ahead = Math.max(ahead, needed.get(i));
            }
            int kept = Math.max(needed.get(second), Math.min(before, ahead));
            launches += Math.max(0, kept - before);
            before = kept;
        }
        return launches;
    }

    /** Returns when the last launched worker was there, in seconds since the traffic began. */
    double lastLaunchedSeconds() {
        return path.timeline.counted().stream()
                .filter(look -> look.alive() > settings.count(BASE_WORKERS))
                .mapToDouble(Timeline.Look::seconds)
                .max()
                .orElse(0);
    }

    /** Returns for how long launched workers were there, all together. */
    double launchedSeconds() {
        double sum = 0;
        double before = 0;
        for (Timeline.Look look : path.timeline.counted()) {
            sum += (look.alive() - settings.count(BASE_WORKERS)) * (look.seconds() - before);
            before = look.seconds();
        }
        return sum;
    }

    /** Returns a line of a table, with the columns of {@link #HEAD}. */
    String row(String name) {
        SimulationTally tally = path.tally;
        return String.format(
                Locale.ROOT,
                "| %s | %,d | %.1f %% | %d | %d | %.0f ms | %.0f ms | %.0f ms | %d | %d |",
                name,
                tally.arrived,
                100.0 * tally.servedByBase / tally.arrived,
                path.launchNanos.size(),
                leastLaunches(),
                tally.calmWait.getValueAtPercentile(99) / 1e6,
                tally.wait.getMaxValue() / 1e6,
                path.longestStartNanos / 1e6,
                tally.launchesWithRoom,
                tally.refused + tally.expired + tally.cut);
    }

    static final String HEAD = "| traffic | requests | by the base | launches | least | calm wait, p99 | longest wait"
            + " | longest start | launches with room | failed |\n|---|---|---|---|---|---|---|---|---|---|";

    /** Serves each request at once, and so shows the concurrency of the traffic. */
    private final class Unlimited implements Path {
        private final EventQueue queue = new EventQueue();
        private final Durations service = settings.workerService();
        private final SplittableRandom random = random(4);
        private int busy;
        private double busyNanos;
        private long changedNanos;

        List<Integer> needed() {
            double base = settings.get(BASE_WORKERS) * settings.get(BASE_STREAMS);
            List<Integer> needed = new ArrayList<>();
            start(queue, this);
            for (int second = 1; second <= perSecond.length * binSeconds; second++) {
                queue.runUntil(second * SECOND);
                change(0);
                double mean = busyNanos / SECOND;
                busyNanos = 0;
                needed.add((int) Math.ceil(Math.max(0, mean - base) / settings.get(STREAMS)));
            }
            return needed;
        }

        @Override
        public void onRequest(Caller caller) {
            change(1);
            queue.after(service.draw(random), () -> change(-1));
        }

        private void change(int by) {
            busyNanos += (double) busy * (queue.nowNanos() - changedNanos);
            changedNanos = queue.nowNanos();
            busy += by;
        }
    }
}
