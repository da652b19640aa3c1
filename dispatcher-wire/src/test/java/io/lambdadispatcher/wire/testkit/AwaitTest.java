package io.lambdadispatcher.wire.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AwaitTest {
    private final AtomicInteger calls = new AtomicInteger();

    @Test
    void should_return_when_the_condition_is_true() {
        Thread caller = Thread.currentThread();

        Await.until(
                "three calls on this thread", () -> Thread.currentThread() == caller && calls.incrementAndGet() == 3);

        assertThat(calls).hasValue(3);
    }

    @Test
    void should_name_what_has_not_happened() {
        assertThatThrownBy(() -> Await.until("rain", Duration.ofMillis(20), () -> false))
                .hasMessageContaining("rain");
    }

    @Test
    void should_end_with_the_exception_of_the_condition() {
        assertThatThrownBy(() -> Await.until("rain", () -> {
                    throw new IllegalArgumentException("no sky");
                }))
                .hasStackTraceContaining("no sky");
    }

    @Test
    void should_see_that_something_remains_so_for_the_whole_time() {
        long before = System.nanoTime();

        Await.remains("dry", Duration.ofMillis(50), () -> true);

        assertThat(System.nanoTime() - before).isGreaterThan(40_000_000L);
    }

    @Test
    void should_fail_if_it_does_not_remain_so_even_if_it_is_so_again_later() {
        assertThatThrownBy(() -> Await.remains("dry", Duration.ofMillis(50), () -> calls.incrementAndGet() != 3))
                .hasMessageContaining("dry");
        assertThat(calls).hasValue(3);
    }

    @Test
    void should_return_what_has_not_changed_for_a_while() {
        assertThat(Await.settled("calls", Duration.ofMillis(30), () -> Math.min(calls.incrementAndGet(), 5)))
                .isEqualTo(5);
    }
}
