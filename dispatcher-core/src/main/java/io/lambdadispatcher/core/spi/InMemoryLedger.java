package io.lambdadispatcher.core.spi;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Keeps entries in a map that several ledgers can share. The map makes each change atomic. */
final class InMemoryLedger implements Ledger {
    private final ConcurrentMap<String, Entry> entries;
    private volatile boolean closed;

    InMemoryLedger(ConcurrentMap<String, Entry> entries) {
        this.entries = entries;
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        return unlessClosed(() -> List.copyOf(entries.values()));
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        Entry written = new Entry(key, expectedVersion + 1, value);
        return unlessClosed(() ->
                entries.compute(key, (k, current) -> version(current) == expectedVersion ? written : current)
                        == written);
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        new Entry(key, version, ""); // Checks the arguments.
        return unlessClosed(() -> {
            Entry current = entries.get(key);
            return current != null && current.version() == version && entries.remove(key, current);
        });
    }

    private static long version(@Nullable Entry entry) {
        return entry == null ? 0 : entry.version();
    }

    private <T> CompletionStage<T> unlessClosed(Supplier<T> action) {
        return closed
                ? CompletableFuture.failedFuture(new LedgerException("the ledger is closed", null))
                : CompletableFuture.completedFuture(action.get());
    }

    @Override
    public void close() {
        closed = true;
    }
}
