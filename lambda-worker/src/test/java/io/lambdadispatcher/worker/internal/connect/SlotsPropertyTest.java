package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Dispatchers that share one worker, in virtual time. The first one has taken all slots before the
 * others begin, and takes each slot again a round trip after its response. The others know that a
 * slot is free only if they are called, or if they happen to try at that moment.
 */
class SlotsPropertyTest {
    private static final int RUNS = Integer.getInteger("slots.runs", 200);
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    /** A dispatcher that is refused tries again after this time at the latest. */
    private static final long MAX_TRIAL_NANOS = 100 * MILLI;

    /**
     * The part of its fair share that each dispatcher must get. It does not get all, because a slot
     * is unused during the round trip of a call.
     */
    private static final double LEAST_PART = 0.7;

    private record Event(long atNanos, long number, Runnable action) {}

    private static final class Run {
        final Random random;
        final PriorityQueue<Event> events = new PriorityQueue<>((a, b) ->
                a.atNanos != b.atNanos ? Long.compare(a.atNanos, b.atNanos) : Long.compare(a.number, b.number));
        final Slots slots = new Slots(() -> this.nanos);
        final List<Dispatcher> dispatchers = new ArrayList<>();
        final int total;
        final long serviceNanos;
        final long tripNanos;
        long nanos;
        long scheduled;
        int taken;

        Run(int seed) {
            random = new Random(seed);
            total = 1 + random.nextInt(12);
            serviceNanos = (10 + random.nextInt(490)) * MILLI;
            tripNanos = MILLI / 10 + random.nextInt((int) MILLI);
            slots.add(total);
            int count = 2 + random.nextInt(4);
            for (int i = 0; i < count; i++) {
                // Some want less than their share.
                int wanted = i == 0 || random.nextInt(3) > 0 ? 2 * total : 1 + random.nextInt(total);
                dispatchers.add(new Dispatcher(wanted));
            }
        }

        void after(long delayNanos, Runnable action) {
            events.add(new Event(nanos + delayNanos, scheduled++, action));
        }

        void pass(long time) {
            long until = nanos + time;
            while (!events.isEmpty() && events.peek().atNanos <= until) {
                Event event = events.remove();
                nanos = event.atNanos;
                event.action.run();
                assertThat(taken).as("slots in use").isBetween(0, total);
            }
            nanos = until;
        }

        /**
         * Returns how many requests of a dispatcher should be in flight: its equal share of the
         * slots, or all that it wants, if each waits for one turn of all dispatchers.
         */
        double fairPart(Dispatcher of) {
            int count = dispatchers.size();
            double equal = total < count ? (double) total / count : total / count;
            return Math.min(equal, of.wanted / (1 + (double) count / total));
        }

        /** Sends requests as long as {@code wanted} are not in flight. */
        final class Dispatcher {
            final Slots.Share share = slots.join(0, () -> after(tripNanos, this::send));
            int wanted;
            int inFlight;
            int served;

            Dispatcher(int wanted) {
                this.wanted = wanted;
            }

            void begin() {
                IntStream.range(0, wanted).forEach(i -> send());
                trySoon();
            }

            private void trySoon() {
                after(MAX_TRIAL_NANOS / 20 + random.nextLong(MAX_TRIAL_NANOS * 9 / 10), () -> {
                    send();
                    trySoon();
                });
            }

            private void send() {
                if (inFlight < wanted && share.take(true)) {
                    inFlight++;
                    taken++;
                    after(serviceNanos, this::respond);
                }
            }

            private void respond() {
                inFlight--;
                taken--;
                served++;
                share.give();
                after(tripNanos, this::send);
            }
        }
    }

    @Test
    void should_divide_the_slots_equally_whoever_came_first() {
        for (int seed = 0; seed < RUNS; seed++) {
            Run run = new Run(seed);
            List<Run.Dispatcher> all = run.dispatchers;
            all.get(0).begin();
            run.pass(2 * run.serviceNanos);
            all.subList(1, all.size()).forEach(Run.Dispatcher::begin);
            // Each slot is given back before it can be reserved for another dispatcher.
            run.pass((3L + all.size()) * run.serviceNanos + 2 * MAX_TRIAL_NANOS);
            all.forEach(each -> each.served = 0);
            long turns = 50L * all.size();
            run.pass(turns * run.serviceNanos);

            for (Run.Dispatcher each : all) {
                assertThat((double) each.served / turns)
                        .as(
                                "seed %d: requests in flight of one of %d that wants %d of %d slots",
                                seed, all.size(), each.wanted, run.total)
                        .isGreaterThan(LEAST_PART * run.fairPart(each));
            }

            all.forEach(each -> each.wanted = 0);
            run.pass(run.serviceNanos + 2 * MAX_TRIAL_NANOS);
            assertThat(run.taken).isZero();
            run.dispatchers.forEach(each -> each.share.close());
            Slots.Share last = run.slots.join(0, () -> {});
            int free = 0;
            while (last.take(true)) {
                free++;
            }
            assertThat(free).as("seed %d: slots at the end", seed).isEqualTo(run.total);
        }
    }
}
