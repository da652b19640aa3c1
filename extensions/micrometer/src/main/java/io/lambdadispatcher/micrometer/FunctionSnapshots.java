package io.lambdadispatcher.micrometer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The latest snapshot of each function, taken again when it is half a second old: a registry that
 * reads all gauges looks at the event loops once, not once for each gauge. Any thread.
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

    /** Returns 0 for a function that has none. */
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
