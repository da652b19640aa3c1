package io.lambdadispatcher.core.testkit;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.LedgerException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A ledger that can be cut off. Then every call fails, and changes nothing.
 *
 * <p><b>Threading.</b> Any thread.
 */
public final class CutLedger implements Ledger {
    private final Ledger ledger;
    private volatile boolean cutOff;

    public CutLedger(Ledger ledger) {
        this.ledger = ledger;
    }

    /** From now on, calls fail, or no longer fail. */
    public void setCutOff(boolean cutOff) {
        this.cutOff = cutOff;
    }

    private <T> CompletionStage<T> reached(Supplier<CompletionStage<T>> call) {
        return cutOff
                ? CompletableFuture.failedStage(new LedgerException("the test has cut it off", null))
                : call.get();
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        return reached(ledger::read);
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        return reached(() -> ledger.write(key, expectedVersion, value));
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        return reached(() -> ledger.remove(key, version));
    }

    @Override
    public void close() {
        ledger.close();
    }
}
