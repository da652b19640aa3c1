package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.LedgerException;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages between dispatchers that start, end and lose the ledger, in virtual time. */
class BroadcastTest {
    private static final long SECOND = 1_000_000_000;

    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();
    private final List<Node> nodes = new ArrayList<>();
    private SplittableRandom random = new SplittableRandom(1);
    private long nanos = 1;

    /** One dispatcher. */
    private final class Node implements Ledger {
        private final Ledger store = Ledger.inMemory(entries);
        final List<String> received = new ArrayList<>();
        final FleetMember member = new FleetMember(
                this,
                Runnable::run,
                new FleetTime() {
                    @Override
                    public long nanos() {
                        return nanos;
                    }

                    @Override
                    public long millis() {
                        return nanos / 1_000_000;
                    }
                },
                random.split(),
                Incidents.unobserved(),
                peers -> {},
                this::onBroadcast);

        /** Until when it cannot reach the ledger. */
        long cutOffUntil;
        /** Whether it has read the ledger since it could not. */
        boolean hasRead;
        /** Whether the next write fails after it was applied. */
        boolean answerLost;
        /** Completes when the ledger answers its writes. */
        CompletableFuture<Void> answered = CompletableFuture.completedFuture(null);
        /** When it has read the ledger first. */
        long startedNanos = Long.MAX_VALUE;

        Node() {
            nodes.add(this);
        }

        void tick() {
            member.tick();
        }

        private void onBroadcast(String message) {
            received.add(message);
            if (message.equals("wrong")) {
                throw new AssertionError("for the test");
            }
        }

        private <T> CompletionStage<T> failed() {
            return CompletableFuture.failedFuture(new LedgerException("for the test", null));
        }

        @Override
        public CompletionStage<List<Entry>> read() {
            if (nanos < cutOffUntil) {
                return failed();
            }
            hasRead = true;
            startedNanos = Math.min(startedNanos, nanos);
            return store.read();
        }

        @Override
        public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
            if (nanos < cutOffUntil) {
                return failed();
            }
            CompletionStage<Boolean> written = store.write(key, expectedVersion, value);
            boolean lost = answerLost;
            answerLost = false;
            return lost ? failed() : answered.thenCompose(end -> written);
        }

        @Override
        public CompletionStage<Boolean> remove(String key, long version) {
            return nanos < cutOffUntil ? failed() : store.remove(key, version);
        }

        @Override
        public void close() {}
    }

    private void pass(long seconds) {
        for (int i = 0; i < seconds; i++) {
            nanos += SECOND;
            nodes.forEach(Node::tick);
        }
    }

    /** @param sentNanos when it was sent */
    private record Sent(Node by, long sentNanos, CompletableFuture<Void> written) {}

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void should_tell_each_dispatcher_everything_once_whatever_fails(long seed) {
        for (int run = 0; run < 20; run++) {
            entries.clear();
            nodes.clear();
            random = new SplittableRandom(seed * 1000 + run);
            Map<String, Sent> sent = new HashMap<>();
            List<Node> gone = new ArrayList<>();
            new Node();
            for (int step = 0; step < 300; step++) {
                nanos += random.nextLong(SECOND);
                Node one = nodes.get(random.nextInt(nodes.size()));
                switch (random.nextInt(12)) {
                    case 0, 1, 2 -> {
                        String text = "m" + sent.size();
                        sent.put(
                                text,
                                new Sent(one, nanos, one.member.broadcast(text).toCompletableFuture()));
                    }
                    case 3 -> {
                        // A minute without the ledger would be too long.
                        if (one.hasRead) {
                            one.hasRead = false;
                            one.cutOffUntil = nanos + random.nextLong(40 * SECOND);
                        }
                    }
                    case 4 -> one.answerLost = true;
                    case 5 -> {
                        if (nodes.size() < 5) {
                            new Node();
                        }
                    }
                    case 6 -> {
                        if (nodes.size() > 1) {
                            nodes.remove(one);
                            if (random.nextBoolean()) {
                                one.member.leave();
                            }
                        }
                    }
                    default -> nodes.forEach(Node::tick);
                }
            }
            pass(45);
            for (Node node : nodes) {
                assertThat(node.received).doesNotHaveDuplicates();
                Map<Node, List<Integer>> bySender = new HashMap<>();
                for (String text : node.received) {
                    assertThat(sent.get(text).by()).isNotSameAs(node);
                    bySender.computeIfAbsent(sent.get(text).by(), any -> new ArrayList<>())
                            .add(Integer.valueOf(text.substring(1)));
                }
                bySender.values().forEach(numbers -> assertThat(numbers).isSorted());
                sent.forEach((text, message) -> {
                    // Who has crashed or left cannot say whether the ledger has it.
                    boolean stays = nodes.contains(message.by());
                    if (message.by() != node && stays && message.sentNanos() > node.startedNanos) {
                        assertThat(message.written().isDone()).as(text).isTrue();
                        if (!message.written().isCompletedExceptionally()) {
                            assertThat(node.received).as("seed %s", seed).contains(text);
                        }
                    }
                });
            }
        }
    }

    @Test
    void should_tell_the_others_even_if_the_sender_crashes() {
        Node one = new Node();
        Node other = new Node();
        pass(3);
        assertThat(one.member.broadcast("a").toCompletableFuture()).isCompleted();
        nodes.remove(one);
        pass(1);
        assertThat(other.received).containsExactly("a");
        assertThat(one.received).isEmpty();
    }

    @Test
    void should_tell_who_starts_later_what_was_said_in_the_last_minute() {
        Node one = new Node();
        pass(2);
        one.member.broadcast("a");
        pass(50);
        Node later = new Node();
        pass(2);
        one.member.broadcast("b");
        pass(15);
        assertThat(later.received).containsExactly("a", "b");
        Node last = new Node();
        pass(2);
        assertThat(last.received).containsExactly("b");
    }

    @Test
    void should_log_that_a_dispatcher_has_missed_messages() {
        Node one = new Node();
        Node other = new Node();
        pass(3);
        other.cutOffUntil = nanos + 70 * SECOND;
        one.member.broadcast("a");
        pass(65);
        one.member.broadcast("b");
        try (LoggedLines log = LoggedLines.of(FleetMember.class, Level.WARN)) {
            pass(10);
            assertThat(log.messages())
                    .singleElement()
                    .asString()
                    .contains("has sent 1 message that this one did not read in time");
        }
        assertThat(other.received).containsExactly("b");
    }

    /** The others have removed its entry, and read the message again when it is back. */
    @Test
    void should_tell_nothing_twice_that_was_written_without_an_answer() {
        Node one = new Node();
        Node other = new Node();
        Node third = new Node();
        pass(3);
        one.answerLost = true;
        CompletableFuture<Void> written = one.member.broadcast("a").toCompletableFuture();
        one.cutOffUntil = nanos + 80 * SECOND;
        pass(75);
        assertThat(written).isNotDone();
        assertThat(other.received).containsExactly("a");
        pass(10);
        assertThat(written).isCompleted();
        assertThat(other.received).containsExactly("a");
        assertThat(third.received).containsExactly("a");
    }

    @Test
    void should_survive_a_listener_that_fails() {
        Node one = new Node();
        Node other = new Node();
        pass(3);
        one.member.broadcast("wrong");
        one.member.broadcast("right");
        pass(10);
        assertThat(other.received).containsExactly("wrong", "right");
        assertThat(other.member.isLeaseValid()).isTrue();
    }

    @Test
    void should_wait_for_the_ledger_and_say_when_it_has_left() {
        Node one = new Node();
        Node other = new Node();
        pass(3);
        one.cutOffUntil = nanos + 90 * SECOND;
        CompletableFuture<Void> written = one.member.broadcast("a").toCompletableFuture();
        pass(80);
        assertThat(written).isNotDone();
        pass(20);
        assertThat(written).isCompleted();
        assertThat(other.received).containsExactly("a");

        one.cutOffUntil = nanos + 5 * SECOND;
        CompletableFuture<Void> unwritten = one.member.broadcast("b").toCompletableFuture();
        one.member.leave();
        assertThat(unwritten).isCompletedExceptionally();
        assertThat(one.member.broadcast("c").toCompletableFuture()).isCompletedExceptionally();
    }

    @Test
    void should_not_take_a_message_for_written_that_came_during_the_write() {
        Node one = new Node();
        pass(3);
        one.answered = new CompletableFuture<>();
        CompletableFuture<Void> before = one.member.broadcast("a").toCompletableFuture();
        CompletableFuture<Void> during = one.member.broadcast("b").toCompletableFuture();
        one.answered.complete(null);
        assertThat(before).isCompleted();
        assertThat(during).isNotDone();
        pass(1);
        assertThat(during).isCompleted();
    }

    @Test
    void should_send_twenty_messages_a_minute() {
        Node one = new Node();
        Node other = new Node();
        pass(3);
        for (int i = 0; i < 20; i++) {
            assertThat(one.member.broadcast("m" + i).toCompletableFuture()).isCompleted();
        }
        assertThatThrownBy(
                        () -> one.member.broadcast("more").toCompletableFuture().join())
                .hasMessageContaining("has sent 20 messages to its fleet in the last minute, expected fewer");
        pass(62);
        assertThat(one.member.broadcast("later").toCompletableFuture()).isCompleted();
        pass(1);
        assertThat(other.received).hasSize(21).endsWith("m19", "later");
    }
}
