package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class RateLimiterTest {
    /** Any value: the clock of an event loop has no origin. */
    private static final long START = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(30);

    private static final long TENTH = TimeUnit.MILLISECONDS.toNanos(100);

    private final RateLimiter limiter = new RateLimiter();
    private long now = START;

    private int admittedOf(Object key, int requests, int burst) {
        int admitted = 0;
        for (int i = 0; i < requests; i++) {
            admitted += limiter.tryTake(key, TENTH, burst, now) == 0 ? 1 : 0;
        }
        return admitted;
    }

    @Test
    void should_admit_a_burst_and_then_one_request_for_each_interval() {
        assertThat(admittedOf("a", 10, 5)).isEqualTo(5);

        now += 3 * TENTH;

        assertThat(admittedOf("a", 10, 5)).isEqualTo(3);
    }

    @Test
    void should_hold_no_more_tokens_than_the_burst() {
        admittedOf("a", 1, 5);

        now += 1000 * TENTH;

        assertThat(admittedOf("a", 10, 5)).isEqualTo(5);
    }

    @Test
    void should_say_when_the_next_request_may_begin() {
        admittedOf("a", 5, 5);
        now += TENTH / 4;

        long waitNanos = limiter.tryTake("a", TENTH, 5, now);

        assertThat(waitNanos).isEqualTo(TENTH * 3 / 4);
        now += waitNanos - 1;
        assertThat(admittedOf("a", 1, 5)).isZero();
        now += 1;
        assertThat(admittedOf("a", 1, 5)).isEqualTo(1);
    }

    @Test
    void should_not_charge_a_refused_request() {
        admittedOf("a", 500, 5);

        now += TENTH;

        assertThat(admittedOf("a", 1, 5)).isEqualTo(1);
    }

    @Test
    void should_have_a_bucket_for_each_key() {
        admittedOf("a", 10, 5);

        assertThat(admittedOf("b", 10, 5)).isEqualTo(5);
    }

    @Test
    void should_obey_a_changed_limit() {
        admittedOf("a", 10, 5);

        assertThat(admittedOf("a", 10, 8)).isEqualTo(3);
        assertThat(admittedOf("a", 10, 2)).isZero();
    }

    /** An operator who raises a limit does not wait until the old one is over. */
    @Test
    void should_obey_a_raised_limit_immediately() {
        long hour = TimeUnit.HOURS.toNanos(1);
        for (int i = 0; i < 5; i++) {
            limiter.tryTake("a", hour, 5, now);
        }

        assertThat(limiter.tryTake("a", TENTH, 5, now)).isEqualTo(TENTH);
        now += TENTH;
        assertThat(admittedOf("a", 10, 5)).isEqualTo(1);
    }

    /** In any window, at most the burst and one request for each interval. */
    @Test
    void should_count_exactly_in_any_window_of_random_traffic() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<Long> admitted = new ArrayList<>();
        int burst = 1 + random.nextInt(20);
        for (int i = 0; i < 20_000; i++) {
            now += (long) (TENTH * 0.7 * -Math.log(1 - random.nextDouble()));
            if (limiter.tryTake("a", TENTH, burst, now) == 0) {
                admitted.add(now);
            }
        }
        for (int first = 0; first < admitted.size(); first++) {
            int last = Math.min(admitted.size() - 1, first + 1 + random.nextInt(200));
            long windowNanos = admitted.get(last) - admitted.get(first);
            assertThat(last - first + 1)
                    .as("seed %s, from %s to %s", seed, first, last)
                    .isLessThanOrEqualTo((int) (burst + windowNanos / TENTH));
        }
        long allNanos = now - START;
        // With a burst of 1, a token is lost whenever no request comes for an interval.
        assertThat((double) admitted.size())
                .as("seed %s", seed)
                .isBetween(0.5 * allNanos / TENTH, 1.0 + burst + allNanos / TENTH);
    }

    @Test
    void should_count_exactly_over_several_threads() {
        AtomicInteger admitted = new AtomicInteger();
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(CompletableFuture.runAsync(() -> admitted.addAndGet(admittedOf("a", 1000, 777))));
        }
        threads.forEach(CompletableFuture::join);

        assertThat(admitted).hasValue(777);
    }

    @Test
    void should_keep_only_keys_whose_bucket_is_not_full() {
        for (int i = 0; i < 1_000_000; i++) {
            now += TENTH / 100;
            limiter.tryTake("key " + i, TENTH, 5, now);
        }
        // A bucket is full again after 100 requests of other keys.
        assertThat(limiter.keys()).isBetween(100, 400);
    }

    @Test
    void should_keep_a_bounded_number_of_keys_whatever_clients_invent() {
        for (int i = 0; i < 3 * RateLimiter.MAX_KEYS; i++) {
            limiter.tryTake("key " + i, TENTH, 5, now);
        }
        assertThat(limiter.keys()).isEqualTo(RateLimiter.MAX_KEYS);
    }

    @Test
    void should_limit_the_keys_beyond_the_bound_together_and_no_others() {
        RateLimiter small = new RateLimiter(16);
        for (int i = 0; i < 1000; i++) {
            small.tryTake("early " + i, TENTH, 2, now);
        }
        int admitted = 0;
        for (int i = 0; i < 1000; i++) {
            admitted += small.tryTake("late " + i, TENTH, 2, now) == 0 ? 1 : 0;
        }
        assertThat(small.keys()).isEqualTo(16);
        assertThat(admitted).isZero();

        now += 2 * TENTH;
        assertThat(small.tryTake("fresh", TENTH, 2, now)).isZero();
    }

    @Test
    void should_tell_long_keys_apart_without_keeping_them() {
        String prefix = "x".repeat(60_000);
        admittedOf(prefix + "a", 10, 5);

        assertThat(admittedOf(prefix + "a", 10, 5)).isZero();
        assertThat(admittedOf(prefix + "b", 10, 5)).isEqualTo(5);
    }
}
