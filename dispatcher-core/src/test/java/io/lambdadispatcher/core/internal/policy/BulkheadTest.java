package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BulkheadTest {
    private final Bulkhead bulkhead = new Bulkhead();

    private int entered(String tenant, int requests, int limit) {
        int entered = 0;
        for (int i = 0; i < requests; i++) {
            entered += bulkhead.tryEnter(tenant, limit) ? 1 : 0;
        }
        return entered;
    }

    @Test
    void should_admit_as_many_as_the_limit_until_one_leaves() {
        assertThat(bulkhead.tryEnter(2)).isTrue();
        assertThat(bulkhead.tryEnter(2)).isTrue();
        assertThat(bulkhead.tryEnter(2)).isFalse();

        bulkhead.leave();

        assertThat(bulkhead.tryEnter(2)).isTrue();
        assertThat(bulkhead.tryEnter(2)).isFalse();
    }

    @Test
    void should_admit_nothing_while_more_are_in_flight_than_a_lowered_limit() {
        for (int i = 0; i < 5; i++) {
            bulkhead.tryEnter(5);
        }
        bulkhead.leave();
        assertThat(bulkhead.tryEnter(3)).isFalse();

        bulkhead.leave();
        bulkhead.leave();

        assertThat(bulkhead.tryEnter(3)).isTrue();
    }

    @Test
    void should_count_each_tenant_separately() {
        assertThat(entered("a", 10, 3)).isEqualTo(3);
        assertThat(entered("b", 10, 3)).isEqualTo(3);

        bulkhead.leave("a");

        assertThat(entered("a", 10, 3)).isEqualTo(1);
        assertThat(entered("b", 10, 3)).isZero();
    }

    @Test
    void should_forget_a_tenant_without_requests() {
        entered("a", 2, 3);
        entered("b", 1, 3);

        bulkhead.leave("a");
        bulkhead.leave("a");

        assertThat(bulkhead.tenants).hasSize(1);
    }

    @Test
    void should_never_exceed_the_limit_on_several_threads() {
        AtomicInteger inFlight = new AtomicInteger();
        AtomicInteger highest = new AtomicInteger();
        AtomicInteger admitted = new AtomicInteger();
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(CompletableFuture.runAsync(() -> {
                for (int j = 0; j < 20_000; j++) {
                    if (bulkhead.tryEnter("a", 2)) {
                        admitted.incrementAndGet();
                        highest.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
                        inFlight.decrementAndGet();
                        bulkhead.leave("a");
                    }
                }
            }));
        }
        threads.forEach(CompletableFuture::join);
        assertThat(admitted.get()).isPositive();
        assertThat(highest.get()).isBetween(1, 2);
        assertThat(bulkhead.tenants).isEmpty();
    }
}
