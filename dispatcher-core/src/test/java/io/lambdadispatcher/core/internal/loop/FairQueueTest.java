package io.lambdadispatcher.core.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FairQueueTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<String> expired = new ArrayList<>();
    private final FairQueue<String> queue = new FairQueue<>(
            channel.eventLoop(), TimeUnit.MILLISECONDS.toNanos(100), ticket -> expired.add(ticket.entry));

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    private Ticket<String> added(String entry, long tag) {
        Ticket<String> ticket = queue.newTicket(entry, tag, now());
        queue.add(ticket);
        return ticket;
    }

    private long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    private @Nullable String polled() {
        Ticket<String> ticket = queue.poll();
        return ticket == null ? null : ticket.entry;
    }

    @Test
    void should_serve_the_lowest_tag_first_and_equal_tags_in_order() {
        added("b", 2);
        added("a", 1);
        added("c", 2);
        added("d", 2);

        assertThat(polled()).isEqualTo("a");
        assertThat(polled()).isEqualTo("b");
        assertThat(polled()).isEqualTo("c");
        assertThat(polled()).isEqualTo("d");
        assertThat(polled()).isNull();
    }

    @Test
    void should_expire_the_oldest_first_whatever_its_tag() {
        added("old", 9);
        pass(50);
        added("young", 1);
        pass(50);

        assertThat(expired).containsExactly("old");
        assertThat(queue.size()).isEqualTo(1);
        pass(50);
        assertThat(expired).containsExactly("old", "young");
        assertThat(queue.headTag()).isEqualTo(FairQueue.EMPTY);
    }

    @Test
    void should_give_a_ticket_that_comes_back_its_place_and_its_deadline() {
        Ticket<String> first = added("first", 5);
        added("second", 5);
        pass(60);
        assertThat(queue.poll()).isSameAs(first);
        assertThat(queue.contains(first)).isFalse();

        queue.add(first);

        assertThat(queue.peek()).isSameAs(first);
        pass(40);
        assertThat(expired).containsExactlyInAnyOrder("first", "second");
    }

    @Test
    void should_show_its_head_to_other_threads() {
        assertThat(queue.headTag()).isEqualTo(FairQueue.EMPTY);
        added("later", 7);
        pass(10);
        long since = now();
        Ticket<String> head = added("head", 3);
        assertThat(queue.headTag()).isEqualTo(3);
        assertThat(queue.headSinceNanos()).isEqualTo(since);

        queue.remove(head);

        assertThat(queue.headTag()).isEqualTo(7);
        assertThat(queue.remove(head)).isFalse();
        assertThat(queue.remove(null)).isFalse();
    }

    /** Compared with a sorted list. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void should_stay_in_order_whatever_comes_and_goes(long seed) {
        Random random = new Random(seed);
        List<Ticket<String>> model = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            int what = random.nextInt(10);
            if (what < 5) {
                // After the tickets with the same tag, which is where a stable sort leaves it.
                model.add(added("entry " + i, random.nextInt(50)));
                model.sort(Comparator.comparingLong(ticket -> ticket.tag));
            } else if (what < 7 && !model.isEmpty()) {
                assertThat(queue.remove(model.remove(random.nextInt(model.size()))))
                        .isTrue();
            } else {
                assertThat(queue.poll()).isSameAs(model.isEmpty() ? null : model.remove(0));
            }
            assertThat(queue.size()).isEqualTo(model.size());
            assertThat(queue.headTag()).isEqualTo(model.isEmpty() ? FairQueue.EMPTY : model.get(0).tag);
        }
    }
}
