package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.LedgerException;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One dispatcher's way to the ledger. Calls take time, can get lost on the way there, on the way
 * back, or can arrive after they have failed. A few take much longer than those that follow.
 */
final class SimulatedLedger implements Ledger {
    private static final long MILLI = 1_000_000;
    private static final long TIMEOUT_NANOS = 3_000 * MILLI;

    /** The entries, which all dispatchers share. */
    static final class Store {
        final TreeMap<String, Entry> entries = new TreeMap<>();
        /** Whether nobody can reach the ledger. */
        boolean down;
        /** The key of an entry that is written as a newer dispatcher would write it. */
        @Nullable
        String scramble;

        long reads;
        long writes;
        long conflicts;

        boolean write(String key, long expectedVersion, String value) {
            Entry current = entries.get(key);
            if ((current == null ? 0 : current.version()) != expectedVersion) {
                conflicts++;
                return false;
            }
            entries.put(key, new Entry(key, expectedVersion + 1, key.equals(scramble) ? "{\"format\": 2}" : value));
            writes++;
            return true;
        }

        boolean remove(String key, long version) {
            Entry current = entries.get(key);
            if (current == null || current.version() != version) {
                return false;
            }
            entries.remove(key);
            return true;
        }
    }

    /** The dispatcher that uses the ledger. */
    interface Watcher {
        boolean reachesLedger();

        /** A budget is about to be written. */
        void onSent();

        /** An entry has been written, but the dispatcher does not know it yet. */
        void onApplied(String key);
    }

    private final Store store;
    private final VirtualTime time;
    private final RandomGenerator random;
    private final Watcher watcher;
    /** Whether this dispatcher cannot reach the ledger. */
    boolean cutOff;
    /** Whether this dispatcher's reads fail, for example because they are throttled. */
    boolean unreadable;
    /** The time that each call takes in addition to the usual one. */
    long slowNanos;
    /** The share of calls that are applied, but whose answer is lost. */
    double lostAnswers;
    /** Whether the answer of the call that is being applied is lost. */
    boolean losesNextAnswer;

    SimulatedLedger(Store store, VirtualTime time, RandomGenerator random, Watcher watcher) {
        this.store = store;
        this.time = time;
        this.random = random;
        this.watcher = watcher;
    }

    private <T> CompletionStage<T> call(Supplier<T> action) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        time.after(
                TIMEOUT_NANOS, () -> answer.completeExceptionally(new LedgerException("no answer within 3 s", null)));
        boolean late = lostAnswers > 0 && random.nextInt(10) == 0;
        time.after(late ? TIMEOUT_NANOS + random.nextLong(2000 * MILLI) : slowNanos + travel(), () -> {
            if (!watcher.reachesLedger()) {
                return;
            }
            T result = action.get();
            boolean lost = losesNextAnswer || random.nextDouble() < lostAnswers;
            losesNextAnswer = false;
            if (!lost) {
                time.after(travel(), () -> {
                    if (watcher.reachesLedger()) {
                        answer.complete(result);
                    }
                });
            }
        });
        return answer;
    }

    private long travel() {
        return random.nextInt(100) == 0 ? random.nextLong(1200 * MILLI) : random.nextLong(MILLI, 15 * MILLI);
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        if (unreadable) {
            return CompletableFuture.failedFuture(new LedgerException("throttled", null));
        }
        return call(() -> {
            store.reads++;
            return List.copyOf(store.entries.values());
        });
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        if (key.startsWith("function/")) {
            watcher.onSent();
        }
        return call(() -> {
            boolean written = store.write(key, expectedVersion, value);
            if (written) {
                watcher.onApplied(key);
            }
            return written;
        });
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        return call(() -> store.remove(key, version));
    }

    @Override
    public void close() {}
}
