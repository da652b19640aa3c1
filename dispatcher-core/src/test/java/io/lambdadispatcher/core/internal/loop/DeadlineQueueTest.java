package io.lambdadispatcher.core.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DeadlineQueueTest {
    private static final class Waiting extends DeadlineQueue.Entry {}

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<Waiting> expired = new ArrayList<>();
    private final DeadlineQueue<Waiting> queue =
            new DeadlineQueue<>(channel.eventLoop(), TimeUnit.MILLISECONDS.toNanos(100), expired::add);

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    private Waiting added() {
        Waiting entry = new Waiting();
        queue.add(entry, channel.eventLoop().ticker().nanoTime());
        return entry;
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    @Test
    void should_give_entries_in_order_and_forget_removed_ones() {
        Waiting first = added();
        Waiting second = added();
        Waiting third = added();
        assertThat(queue.remove(second)).isTrue();
        assertThat(queue.remove(second)).isFalse();
        assertThat(queue.size()).isEqualTo(2);
        assertThat(queue.poll()).isSameAs(first);
        assertThat(queue.poll()).isSameAs(third);
        assertThat(queue.poll()).isNull();
    }

    /** Added again, it would follow itself, and the next search for a place would never end. */
    @Test
    void should_refuse_an_entry_that_is_queued() {
        Waiting entry = added();
        assertThatThrownBy(() -> queue.add(entry, 0)).isInstanceOf(IllegalStateException.class);
        assertThat(queue.size()).isEqualTo(1);
    }

    @Test
    void should_expire_the_other_entries_after_an_exception() {
        DeadlineQueue<Waiting> throwing =
                new DeadlineQueue<>(channel.eventLoop(), TimeUnit.MILLISECONDS.toNanos(100), entry -> {
                    expired.add(entry);
                    if (expired.size() == 1) {
                        throw new IllegalStateException("of the test");
                    }
                });
        for (int i = 0; i < 3; i++) {
            throwing.add(new Waiting(), channel.eventLoop().ticker().nanoTime());
        }
        pass(100);
        pass(0);
        assertThat(expired).hasSize(3);
    }

    @Test
    void should_expire_each_entry_at_its_own_time_with_one_timer() {
        Waiting first = added();
        pass(60);
        Waiting second = added();
        pass(39);
        assertThat(expired).isEmpty();
        pass(1);
        assertThat(expired).containsExactly(first);
        pass(60);
        assertThat(expired).containsExactly(first, second);
        assertThat(queue.size()).isZero();
    }

    @Test
    void should_not_expire_what_has_left_and_still_expire_the_next() {
        Waiting first = added();
        pass(50);
        Waiting second = added();
        queue.remove(first);
        pass(60);
        assertThat(expired).isEmpty();
        pass(40);
        assertThat(expired).containsExactly(second);
    }

    @Test
    void should_keep_the_age_of_an_entry_that_is_put_back_in_front() {
        long start = channel.eventLoop().ticker().nanoTime();
        pass(70);
        Waiting younger = added();
        Waiting oldest = new Waiting();
        queue.add(oldest, start);
        pass(30);
        assertThat(expired).containsExactly(oldest);
        pass(70);
        assertThat(expired).containsExactly(oldest, younger);
    }

    @Test
    void should_find_the_place_of_an_entry_among_older_and_younger_ones() {
        Waiting first = added();
        pass(10);
        long start = channel.eventLoop().ticker().nanoTime();
        pass(10);
        Waiting third = added();
        pass(10);
        Waiting second = new Waiting();
        queue.add(second, start);
        Waiting last = new Waiting();
        queue.add(last, channel.eventLoop().ticker().nanoTime());
        pass(80);
        assertThat(expired).containsExactly(first, second);
        assertThat(queue.poll()).isSameAs(third);
        assertThat(queue.poll()).isSameAs(last);
        assertThat(queue.poll()).isNull();
    }

    @Test
    void should_not_multiply_its_timers_when_entries_are_added_again_as_they_expire() {
        AtomicInteger timers = new AtomicInteger();
        EventLoop counting = (EventLoop) Proxy.newProxyInstance(
                EventLoop.class.getClassLoader(), new Class<?>[] {EventLoop.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule")) {
                        timers.incrementAndGet();
                    }
                    return method.invoke(channel.eventLoop(), arguments);
                });
        AtomicReference<DeadlineQueue<Waiting>> own = new AtomicReference<>();
        own.set(new DeadlineQueue<>(
                counting,
                TimeUnit.MILLISECONDS.toNanos(100),
                again -> own.get().add(again, channel.eventLoop().ticker().nanoTime())));
        for (int i = 0; i < 10; i++) {
            own.get().add(new Waiting(), channel.eventLoop().ticker().nanoTime());
            pass(10);
        }
        timers.set(0);
        for (int i = 0; i < 1000; i++) {
            pass(10);
        }
        // Each of the ten entries expires a hundred times.
        assertThat(timers.get()).isLessThan(2500);
    }

    @Test
    void should_let_entries_keep_the_timeout_with_which_they_were_added() {
        Waiting longer = added();
        queue.setTimeout(TimeUnit.MILLISECONDS.toNanos(20));
        Waiting first = added();
        pass(10);
        Waiting second = added();
        pass(10);
        assertThat(expired).containsExactly(first);
        pass(10);
        assertThat(expired).containsExactly(first, second);
        queue.setTimeout(TimeUnit.MILLISECONDS.toNanos(300));
        Waiting longest = added();
        pass(70);
        assertThat(expired).containsExactly(first, second, longer);
        pass(230);
        assertThat(expired).containsExactly(first, second, longer, longest);
    }

    @Test
    void should_not_expire_entries_that_were_added_without_a_timeout() {
        queue.setTimeout(0);
        Waiting forever = added();
        queue.setTimeout(TimeUnit.MILLISECONDS.toNanos(20));
        Waiting one = added();
        pass(1_000_000);
        assertThat(expired).containsExactly(one);
        assertThat(queue.poll()).isSameAs(forever);
    }

    /** With each of a thousand timeouts, entries come and go, in the order of a model. */
    @Test
    void should_keep_the_order_of_deadlines_while_timeouts_change() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        TreeMap<Long, Waiting> model = new TreeMap<>();
        DeadlineQueue<Waiting> own = new DeadlineQueue<>(channel.eventLoop(), 1_000_000_000L, expired::add);
        long start = channel.eventLoop().ticker().nanoTime();
        long timeout = 1_000_000_000L;
        for (int i = 1; i <= 10_000; i++) {
            if (random.nextInt(10) == 0) {
                timeout = 1_000_000_000L + random.nextInt(1_000_000);
                own.setTimeout(timeout);
            }
            if (random.nextInt(3) == 0 && !model.isEmpty()) {
                assertThat(own.poll())
                        .as("seed %d", seed)
                        .isSameAs(model.pollFirstEntry().getValue());
            }
            Waiting entry = new Waiting();
            // Usually the youngest, sometimes an older one.
            long begin = start + i * 100L - (random.nextInt(5) == 0 ? random.nextInt(50_000) : 0);
            if (model.putIfAbsent(begin + timeout, entry) == null) {
                own.add(entry, begin);
            }
        }
        model.values()
                .forEach(next -> assertThat(own.poll()).as("seed %d", seed).isSameAs(next));
    }
}
