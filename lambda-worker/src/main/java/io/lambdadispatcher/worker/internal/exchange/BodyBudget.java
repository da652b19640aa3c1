package io.lambdadispatcher.worker.internal.exchange;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that all bodies of a handler may take together.
 * It is needed because each may be as large as an event, and there may be hundreds. A single body
 * is never rejected. Methods may be called from any thread.
 */
public final class BodyBudget {
    private final long limitBytes;
    private final AtomicLong takenBytes = new AtomicLong();

    public BodyBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    public static BodyBudget ofQuarterOfHeap() {
        return new BodyBudget(Runtime.getRuntime().maxMemory() / 4);
    }

    /**
     * @param heldBytes the bytes that the same body has already taken
     * @return false if there is no room for {@code bytes}. Nothing has been taken then
     */
    public boolean tryTake(long heldBytes, int bytes) {
        long taken = takenBytes.addAndGet(bytes);
        if (taken > limitBytes && taken != heldBytes + bytes) {
            takenBytes.addAndGet(-bytes);
            return false;
        }
        return true;
    }

    public void giveBack(long bytes) {
        takenBytes.addAndGet(-bytes);
    }

    /** For tests. */
    public long takenBytes() {
        return takenBytes.get();
    }
}
