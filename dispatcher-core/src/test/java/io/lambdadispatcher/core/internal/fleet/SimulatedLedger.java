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
 * back, or can arrive after they have failed.
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

        Runnable onWrite = () -> {};
        long reads;
        long writes;

        boolean write(String key, long expectedVersion, String value) {
            Entry current = entries.get(key);
            if ((current == null ? 0 : current.version()) != expectedVersion) {
                return false;
            }
            entries.put(key, new Entry(key, expectedVersion + 1, key.equals(scramble) ? "{\"format\": 2}" : value));
            writes++;
            onWrite.run();
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

    private final Store store;
    private final VirtualTime time;
    private final RandomGenerator random;
    /** Whether this dispatcher cannot reach the ledger. */
    boolean cutOff;
    /** The share of calls that are applied, but whose answer is lost. */
    double lostAnswers;

    SimulatedLedger(Store store, VirtualTime time, RandomGenerator random) {
        this.store = store;
        this.time = time;
        this.random = random;
    }

    private <T> CompletionStage<T> call(Supplier<T> action) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        time.after(
                TIMEOUT_NANOS, () -> answer.completeExceptionally(new LedgerException("no answer within 3 s", null)));
        boolean late = lostAnswers > 0 && random.nextInt(10) == 0;
        time.after(late ? TIMEOUT_NANOS + random.nextLong(2000 * MILLI) : travel(), () -> {
            if (cutOff || store.down) {
                return;
            }
            T result = action.get();
            if (random.nextDouble() >= lostAnswers) {
                time.after(travel(), () -> {
                    if (!cutOff) {
                        answer.complete(result);
                    }
                });
            }
        });
        return answer;
    }

    private long travel() {
        return random.nextLong(MILLI, 15 * MILLI);
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        return call(() -> {
            store.reads++;
            return List.copyOf(store.entries.values());
        });
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        return call(() -> store.write(key, expectedVersion, value));
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        return call(() -> store.remove(key, version));
    }

    @Override
    public void close() {}
}
