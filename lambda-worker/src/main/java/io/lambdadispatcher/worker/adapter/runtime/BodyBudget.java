package io.lambdadispatcher.worker.adapter.runtime;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that all requests and answers of a worker may take together while they are gathered:
 * each alone may be as large as an event, and there may be hundreds. A body that is alone is never
 * refused. Any thread.
 */
final class BodyBudget {
    private final long limitBytes;
    private final AtomicLong takenBytes = new AtomicLong();

    BodyBudget(long limitBytes) {
        this.limitBytes = limitBytes;
    }

    /**
     * @param heldBytes what the same body has taken before
     * @return false if there is no room for {@code bytes} more; then nothing has been taken
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
