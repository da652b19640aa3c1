package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Tells whether a load balancer may send requests here, and if not, why. Any thread. */
public final class Readiness {
    private volatile Supplier<@Nullable String> obstacle = () -> "starting";
    private volatile BooleanSupplier ready = () -> false;
    private volatile boolean wasReady;
    private volatile boolean ending;

    /** @param minimum number of workers that each function needs to be ready */
    public void serving(Dispatcher dispatcher, Map<String, Integer> minimum) {
        serving(dispatcher::isReady, dispatcher::pools, dispatcher::capacity, minimum);
    }

    void serving(
            BooleanSupplier isReady,
            Supplier<List<PoolSnapshot>> pools,
            Supplier<List<CapacitySnapshot>> capacity,
            Map<String, Integer> minimum) {
        Map<String, Integer> needed = Map.copyOf(minimum);
        ready = isReady;
        obstacle = () -> isReady.getAsBoolean() ? null : missing(pools.get(), capacity.get(), needed);
    }

    /** Makes {@link #obstacle} report a shutdown, permanently. */
    public void shuttingDown() {
        ending = true;
        ready = () -> false;
        obstacle = () -> "shutting down";
    }

    /** Returns whether {@link #obstacle} finds none, for an event loop. */
    public boolean isReady() {
        return ready.getAsBoolean();
    }

    /** Returns why the server is not ready, in one line; {@code null} = ready. */
    public @Nullable String obstacle() {
        String found = obstacle.get();
        wasReady |= found == null;
        return found;
    }

    /**
     * Returns why the server has never been ready, or that it shuts down, in one line; {@code null}
     * = it has started. A platform that replaces what is not healthy must ask this: a server
     * without workers, because launching is off, would be replaced by one that launches.
     */
    public @Nullable String obstacleToStart() {
        String found = obstacle();
        return wasReady && !ending ? null : found;
    }

    private static String missing(
            List<PoolSnapshot> pools, List<CapacitySnapshot> capacity, Map<String, Integer> minimum) {
        Map<String, Integer> ready = pools.stream()
                .collect(Collectors.toMap(PoolSnapshot::function, PoolSnapshot::readyWorkers, Integer::sum));
        String missing = minimum.entrySet().stream()
                .filter(entry -> ready.getOrDefault(entry.getKey(), 0) < entry.getValue())
                .map(entry -> "function " + entry.getKey() + " has " + ready.getOrDefault(entry.getKey(), 0) + " of "
                        + entry.getValue() + " workers ready" + why(capacity, entry.getKey()))
                .sorted()
                .collect(Collectors.joining(", "));
        return missing.isEmpty() ? "not ready yet" : missing;
    }

    private static String why(List<CapacitySnapshot> capacity, String function) {
        return capacity.stream()
                .filter(of -> of.function().equals(function) && of.blockedReason() != null)
                .map(of -> " (" + of.blockedReason() + ")")
                .findAny()
                .orElse("");
    }
}
