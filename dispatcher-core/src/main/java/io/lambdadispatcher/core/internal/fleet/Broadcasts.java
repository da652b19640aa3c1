package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.wire.http.PrintableText;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the dispatchers of a fleet tell each other. A dispatcher has its messages of the last minute
 * in its own entry of the ledger, numbered, so that each of the others gets every one once.
 * Confined to the member's executor.
 */
final class Broadcasts {
    private static final String LEFT = "the dispatcher leaves its fleet";

    /** So that nobody can fill the entry, which is written every second. */
    private static final int MOST_MESSAGES = 20;

    /** Each dispatcher that can reach the ledger reads it many times in this period. */
    private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final int MOST_SENDERS = 1000;
    private static final Logger log = LoggerFactory.getLogger(FleetMember.class);

    private final FleetTime time;
    private final Consumer<String> listener;
    private final Deque<Message> own = new ArrayDeque<>();
    private long told;
    private boolean left;

    /** How many messages of each of the latest senders this dispatcher knows. */
    private final Map<String, Long> known = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
            return size() > MOST_SENDERS;
        }
    };

    /** Whether this dispatcher has read the ledger. */
    private boolean started;

    private static final class Message {
        final long number;
        final String text;
        final CompletableFuture<Void> written = new CompletableFuture<>();
        long writtenNanos;

        Message(long number, String text) {
            this.number = number;
            this.text = text;
        }
    }

    /** @param listener is told what the others say, and must not block */
    Broadcasts(FleetTime time, Consumer<String> listener) {
        this.time = time;
        this.listener = listener;
    }

    /**
     * Adds a message to this dispatcher's entry.
     *
     * @return completes when the ledger has it
     */
    CompletableFuture<Void> add(String text) {
        removeOld();
        if (left) {
            return CompletableFuture.failedFuture(new CancellationException(LEFT));
        }
        if (own.size() >= MOST_MESSAGES) {
            return CompletableFuture.failedFuture(new IllegalStateException("this dispatcher has sent " + own.size()
                    + " messages to its fleet in the last minute, expected fewer"));
        }
        Message added = new Message(++told, text);
        own.add(added);
        return added.written;
    }

    private void removeOld() {
        own.removeIf(message -> message.written.isDone() && time.nanos() - message.writtenNanos >= KEPT_NANOS);
    }

    /** Returns the number of the last message, for {@link #texts} and {@link #onWritten}. */
    long told() {
        return told;
    }

    /** Returns the messages that the others may not know yet; the last one is number told. */
    List<String> texts() {
        removeOld();
        return own.stream().map(message -> message.text).toList();
    }

    /** The ledger has all messages up to this number. */
    void onWritten(long number) {
        for (Message message : own) {
            if (message.number <= number && !message.written.isDone()) {
                message.writtenNanos = time.nanos();
                message.written.complete(null);
            }
        }
    }

    /** This dispatcher leaves the fleet. */
    void onLeft() {
        left = true;
        own.forEach(message -> message.written.completeExceptionally(new CancellationException(LEFT)));
    }

    /** Another dispatcher has written its entry. */
    void onEntry(String sender, MemberEntry entry) {
        long before = known.getOrDefault(sender, 0L);
        long unknown = entry.told() - before;
        known.put(sender, Math.max(before, entry.told()));
        if (unknown <= 0) {
            return;
        }
        List<String> texts = entry.messages();
        if (unknown > texts.size() && started) {
            log.warn(
                    "dispatcher {} of the fleet has sent {} that this one did not read in time. If they removed stored"
                            + " responses, remove those of this dispatcher",
                    PrintableText.startOf(sender),
                    PrintableText.counted(unknown - texts.size(), "message", "messages"));
        }
        for (String text : texts.subList((int) Math.max(0, texts.size() - unknown), texts.size())) {
            try {
                listener.accept(text);
            } catch (Throwable e) {
                log.warn("the listener failed on the message '{}' of the fleet", PrintableText.startOf(text), e);
            }
        }
    }

    /** All entries were read. */
    void onRead() {
        started = true;
    }
}
