package io.lambdadispatcher.worker.adapter.runtime;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that all requests and responses of a worker may take together while they are gathered.
 * It is needed because each may be as large as an event, and there may be hundreds. A single body
 * is never rejected. Methods may be called from any thread.
 */
final class BodyBudget {
    private final long limitBytes;
    private final AtomicLong takenBytes = new AtomicLong();

    BodyBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /**
     * @param heldBytes the bytes that the same body has already taken
     * @return false if there is no room for {@code bytes}. Nothing has been taken then
     */
    boolean tryTake(long heldBytes, int bytes) {
        long taken = takenBytes.addAndGet(bytes);
        if (taken > limitBytes && taken != heldBytes + bytes) {
            takenBytes.addAndGet(-bytes);
            return false;
        }
        return true;
    }

    void giveBack(long bytes) {
        takenBytes.addAndGet(-bytes);
    }

    /** For tests. */
    long takenBytes() {
        return takenBytes.get();
    }
}
