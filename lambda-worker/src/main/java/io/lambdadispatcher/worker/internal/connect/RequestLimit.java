package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.cpu.CpuLimit;
import io.lambdadispatcher.wire.cpu.CpuUse;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many requests the worker takes at once: what its application has set, or less if the
 * processor time does not suffice for so many. Each connection tells its dispatcher its part of it.
 * The parts of the connections to one dispatcher are the limit together, except that each has at
 * least one request. If several dispatchers send requests, {@link Slots} also refuse what exceeds
 * the limit. Any thread.
 */
public final class RequestLimit {
    private static final Logger log = LoggerFactory.getLogger(RequestLimit.class);

    private final int connections;
    private final int most;
    private final Set<Runnable> listeners = ConcurrentHashMap.newKeySet();
    private final CpuLimit wanted;
    private volatile int limit;
    private @Nullable Slots slots;

    /**
     * @param connections connections to each dispatcher
     * @param streams worker streams of each connection
     */
    public RequestLimit(int connections, int streams) {
        this.connections = connections;
        this.most = connections * streams;
        this.wanted = new CpuLimit(most);
        this.limit = most;
    }

    /** @param requests 1 or more; more than there are streams has no further effect */
    public synchronized void set(int requests) {
        if (requests < 1) {
            throw new IllegalArgumentException("a limit of " + requests + " requests, expected 1 or more");
        }
        wanted.want(requests);
        apply();
    }

    /** Takes a reading of the processor time, every {@link CpuLimit#PERIOD_NANOS}. */
    public synchronized void onCpu(long nowNanos, CpuUse use) {
        boolean before = wanted.isShort();
        wanted.onPeriod(nowNanos, use);
        if (before != wanted.isShort()) {
            log.info(
                    before
                            ? "the processor time suffices for {} requests at once again"
                            : "the processor time does not suffice for {} requests at once, so this worker takes fewer",
                    most);
        }
        apply();
    }

    private void apply() {
        int before = limit;
        limit = wanted.value();
        if (limit == before) {
            return;
        }
        if (slots != null) {
            slots.limit(limit);
        }
        listeners.forEach(Runnable::run);
    }

    /** From now on, several dispatchers send requests. */
    synchronized void share(Slots shared) {
        slots = shared;
        shared.limit(limit);
    }

    /** @param index of the connection among those to its dispatcher */
    Part part(int index) {
        return new Part(index);
    }

    /** The part of one connection. Any thread. */
    final class Part {
        private volatile int index;

        private Part(int index) {
            this.index = index;
        }

        int index() {
            return index;
        }

        /** Changes the index, because the dispatcher has other connections now. */
        void setIndex(int value) {
            int before = requests();
            index = value;
            if (requests() != before) {
                listeners.forEach(Runnable::run);
            }
        }

        /** Returns the most requests at once; 0 = as many as the connection has worker streams. */
        int requests() {
            int now = limit;
            int more = index < now % connections ? 1 : 0;
            return now == most ? 0 : Math.max(1, now / connections + more);
        }

        /** @param listener called after each change, on any thread, until it is removed */
        void add(Runnable listener) {
            listeners.add(listener);
        }

        void remove(Runnable listener) {
            listeners.remove(listener);
        }
    }
}
