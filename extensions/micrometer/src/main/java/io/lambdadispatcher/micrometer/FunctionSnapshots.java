package io.lambdadispatcher.micrometer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The latest snapshot of each function. It is refreshed if it is older than 0.5 s, so that a
 * registry that reads all gauges asks the event loops only once. Any thread.
 */
final class FunctionSnapshots<T> {
    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Supplier<List<T>> source;
    private final Function<T, String> functionOf;
    private Map<String, T> latest = Map.of();
    private long takenNanos;

    FunctionSnapshots(Supplier<List<T>> source, Function<T, String> functionOf) {
        this.source = source;
        this.functionOf = functionOf;
        this.takenNanos = System.nanoTime() - FRESH_NANOS;
    }

    /** Returns a value of the function's snapshot, or 0 if there is none. */
    synchronized double value(String function, Function<T, ? extends Number> part) {
        long now = System.nanoTime();
        if (now - takenNanos >= FRESH_NANOS) {
            latest = source.get().stream().collect(Collectors.toMap(functionOf, Function.identity()));
            takenNanos = now;
        }
        T seen = latest.get(function);
        return seen == null ? 0 : part.apply(seen).doubleValue();
    }
}
