package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.wire.http.HeaderText;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts requests and their latencies by function and route: the method, and at most three parts of
 * the path, of which those with a digit are ids. A route is known from its first response that is
 * no client error. Until then, its client errors are counted together with those of other unknown
 * routes. There are at most {@value #SLOTS} routes. One more is not counted until another one has
 * had no request for a minute. Counting a request of a known route allocates nothing. Any thread
 * may count.
 */
final class RouteCounts {
    static final int SLOTS = 64;

    private static final int PROBES = 8;
    private static final int MAX_PARTS = 3;
    private static final int MAX_CHARACTERS = 128;
    /** Together, they are the name of the row of all unknown routes. */
    private static final String OTHER_PATHS = "other paths";

    private static final String CLIENT_ERRORS = "with client errors only";
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    /** What one route has had in the last 30 to 60 s. */
    record RouteRate(String function, String name, double perSecond, long p99Micros, long serverErrors) {}

    /** What one route has had, and had at the beginning of this window and of the one before. */
    private static final class RouteTotals {
        final long hash;
        final String function;
        final String name;
        final LatencyCounts firstByte = new LatencyCounts();
        final LongAdder serverErrors = new LongAdder();
        long[] before = firstByte.sums();
        long[] current = before;
        long errorsBefore;
        long errorsCurrent;

        RouteTotals(long hash, String function, String name) {
            this.hash = hash;
            this.function = function;
            this.name = name;
        }
    }

    private final AtomicReferenceArray<@Nullable RouteTotals> slots = new AtomicReferenceArray<>(SLOTS);
    private long beforeNanos;
    private long currentNanos;

    RouteCounts(long nowNanos) {
        beforeNanos = nowNanos;
        currentNanos = nowNanos;
    }

    void record(String function, ExchangeEnd end, long firstByteNanos) {
        RouteTotals slot = find(hash(function, end.method(), end.path()));
        if (slot == null) {
            // Scanners ask for many paths that do not exist.
            slot = end.status() / 100 == 4
                    ? findOrAdd(function, OTHER_PATHS, CLIENT_ERRORS)
                    : findOrAdd(function, end.method(), end.path());
        }
        if (slot != null) {
            slot.firstByte.record(firstByteNanos);
            if (end.status() >= 500) {
                slot.serverErrors.increment();
            }
        }
    }

    private static int index(long hash, int probe) {
        return (int) (hash ^ hash >>> 32) + probe & SLOTS - 1;
    }

    private @Nullable RouteTotals find(long hash) {
        for (int i = 0; i < PROBES; i++) {
            RouteTotals slot = slots.get(index(hash, i));
            if (slot != null && slot.hash == hash) {
                return slot;
            }
        }
        return null;
    }

    private @Nullable RouteTotals findOrAdd(String function, CharSequence method, CharSequence path) {
        long hash = hash(function, method, path);
        RouteTotals known = find(hash);
        if (known != null) {
            return known;
        }
        for (int i = 0; i < PROBES; i++) {
            int index = index(hash, i);
            // A slot is large, so none is made for a route that has no place.
            if (slots.get(index) == null) {
                RouteTotals added = new RouteTotals(hash, function, name(method, path));
                RouteTotals there = slots.compareAndExchange(index, null, added);
                if (there == null || there.hash == hash) {
                    return there == null ? added : there;
                }
            }
        }
        return null;
    }

    /** Begins a window if it is time for one. One thread at a time, about once a second. */
    synchronized void tick(long nowNanos) {
        if (nowNanos - currentNanos < WINDOW_NANOS) {
            return;
        }
        beforeNanos = currentNanos;
        currentNanos = nowNanos;
        for (int i = 0; i < SLOTS; i++) {
            RouteTotals slot = slots.get(i);
            if (slot == null) {
                continue;
            }
            slot.before = slot.current;
            slot.errorsBefore = slot.errorsCurrent;
            slot.current = slot.firstByte.sums();
            slot.errorsCurrent = slot.serverErrors.sum();
            if (count(slot.before, slot.current) == 0) {
                slots.compareAndSet(i, slot, null);
            }
        }
    }

    private static long count(long[] before, long[] now) {
        long count = 0;
        for (int i = 0; i < now.length; i++) {
            count += now[i] - before[i];
        }
        return count;
    }

    /** Returns the routes of the last 30 to 60 s, those with the most requests first. */
    synchronized List<RouteRate> list(String function, long nowNanos) {
        double seconds = Math.max(1, (nowNanos - beforeNanos) / 1e9);
        List<RouteRate> found = new ArrayList<>();
        for (int i = 0; i < SLOTS; i++) {
            RouteTotals slot = slots.get(i);
            if (slot != null && slot.function.equals(function)) {
                long[] now = slot.firstByte.sums();
                long requests = count(slot.before, now);
                if (requests > 0) {
                    found.add(new RouteRate(
                            function,
                            slot.name,
                            requests / seconds,
                            LatencyCounts.quantileMicros(slot.before, now, 0.99),
                            slot.serverErrors.sum() - slot.errorsBefore));
                }
            }
        }
        found.sort(Comparator.comparingDouble(RouteRate::perSecond).reversed());
        return found;
    }

    /** Returns the end of the part of a path that begins at a slash or at the start. */
    private static int partEnd(CharSequence path, int from) {
        int i = from + 1;
        while (i < path.length() && path.charAt(i) != '/' && path.charAt(i) != '?') {
            i++;
        }
        return Math.min(i, path.length());
    }

    private static boolean isId(CharSequence path, int from, int to) {
        for (int i = from; i < to; i++) {
            if (path.charAt(i) >= '0' && path.charAt(i) <= '9') {
                return true;
            }
        }
        return false;
    }

    private static boolean ends(CharSequence path, int at) {
        return at >= path.length() || path.charAt(at) == '?';
    }

    private static long hash(CharSequence function, CharSequence method, CharSequence path) {
        long hash = hash(hash(FNV_OFFSET, function, 0, function.length()), method, 0, method.length());
        for (int at = 0, part = 0; part < MAX_PARTS && !ends(path, at); part++) {
            int end = partEnd(path, at);
            hash = isId(path, at, end) ? (hash ^ ':') * FNV_PRIME : hash(hash, path, at, end);
            at = end;
        }
        return hash;
    }

    private static long hash(long before, CharSequence text, int from, int to) {
        long hash = before;
        for (int i = from; i < to; i++) {
            hash = (hash ^ text.charAt(i)) * FNV_PRIME;
        }
        // What follows is another part.
        return (hash ^ 0x100) * FNV_PRIME;
    }

    /** Returns for example {@code GET /orders/:id}. The live page builds the same name. */
    static String name(CharSequence method, CharSequence path) {
        StringBuilder name = new StringBuilder().append(method).append(' ');
        for (int at = 0, part = 0; part < MAX_PARTS && !ends(path, at); part++) {
            int end = partEnd(path, at);
            name.append(isId(path, at, end) ? "/:id" : path.subSequence(at, end));
            at = end;
        }
        return HeaderText.decode(name.substring(0, Math.min(name.length(), MAX_CHARACTERS)));
    }
}
