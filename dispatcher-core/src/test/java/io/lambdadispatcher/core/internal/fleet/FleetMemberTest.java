package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.spi.Ledger;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Reads of the ledger, each of which ends when the test says so. */
class FleetMemberTest {
    private static final long MILLI = 1_000_000;

    private final VirtualTime time = new VirtualTime();
    private final Deque<CompletableFuture<List<Ledger.Entry>>> reads = new ArrayDeque<>();
    private final FleetMember member = new FleetMember(
            new Ledger() {
                @Override
                public CompletionStage<List<Entry>> read() {
                    reads.add(new CompletableFuture<>());
                    return reads.getLast();
                }

                @Override
                public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
                    return CompletableFuture.completedFuture(true);
                }

                @Override
                public CompletionStage<Boolean> remove(String key, long version) {
                    return CompletableFuture.completedFuture(true);
                }

                @Override
                public void close() {}
            },
            Runnable::run,
            new FleetTime() {
                @Override
                public long nanos() {
                    return time.nanos();
                }

                @Override
                public long millis() {
                    return time.millis();
                }
            },
            new Random(1),
            Incidents.unobserved(),
            peers -> {},
            message -> {});

    /** Returns what the member has read, as its next beat shows it. */
    private List<String> foreignEntries() {
        member.tick();
        return member.snapshot().unreadable();
    }

    private void pass(long millis) {
        time.runUntil(time.nanos() + millis * MILLI);
    }

    /** As by a ledger of the embedding program. It would end the lease if no further tick began. */
    @Test
    void should_read_the_ledger_again_after_an_entry_that_it_cannot_process() {
        member.tick();
        reads.remove().complete(Collections.singletonList(null));
        assertThat(member.isLedgerFailing()).isTrue();

        member.tick();
        reads.remove().complete(List.of());
        assertThat(member.isLedgerFailing()).isFalse();
    }

    @Test
    void should_keep_what_it_has_read_if_an_earlier_read_ends_later() {
        member.tick();
        reads.remove().complete(List.of());
        pass(900);
        member.readSoon(0);
        CompletableFuture<List<Ledger.Entry>> late = reads.remove();
        pass(100);
        member.tick();
        reads.remove().complete(List.of(new Ledger.Entry("note", 1, "")));
        late.complete(List.of());

        assertThat(foreignEntries()).containsExactly("note");
    }

    /** Each of many unknown workers that dial in asks for a read. */
    @Test
    void should_read_for_unknown_workers_not_more_often_than_they_wait() {
        member.readSoon(100 * MILLI);
        assertThat(reads).as("before the first beat").isEmpty();
        member.tick();
        reads.remove().complete(List.of());
        for (int i = 0; i < 100; i++) {
            pass(10);
            member.readSoon(100 * MILLI);
            if (!reads.isEmpty()) {
                assertThat(i % 10).isEqualTo(9);
                reads.remove().complete(List.of());
            }
        }
        member.readSoon(0);
        assertThat(reads).as("after a conflict").hasSize(1);
    }
}
