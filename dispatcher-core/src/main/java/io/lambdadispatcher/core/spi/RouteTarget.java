package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.options.TrafficPolicy;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where a route sends its requests. Immutable. A router creates its targets once and returns the
 * same objects for each request.
 *
 * @param function the name of a function
 * @param policy replaces the policy of the function; {@code null} = the function's own
 */
public record RouteTarget(String function, @Nullable TrafficPolicy policy) {
    /** @throws NullPointerException if the function is {@code null} */
    public RouteTarget {
        Objects.requireNonNull(function, "function");
    }

    /**
     * Returns a target with the policy of the function.
     *
     * @param function the name of a function
     */
    public static RouteTarget of(String function) {
        return new RouteTarget(function, null);
    }
}
