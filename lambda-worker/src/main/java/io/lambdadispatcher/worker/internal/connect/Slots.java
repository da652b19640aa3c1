package io.lambdadispatcher.worker.internal.connect;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The requests that a worker has room for. Used as soon as several dispatchers send requests,
 * because each of them may use all its worker streams. There are as many slots as one dispatcher
 * has streams. At first, none is free: each connection that exists then gives the slots of its idle
 * streams. Any thread.
 */
final class Slots {
    private final AtomicInteger free = new AtomicInteger();

    /** @return false if no slot is free */
    boolean take() {
        int now = free.get();
        while (now > 0) {
            if (free.compareAndSet(now, now - 1)) {
                return true;
            }
            now = free.get();
        }
        return false;
    }

    void give(int count) {
        free.addAndGet(count);
    }
}
