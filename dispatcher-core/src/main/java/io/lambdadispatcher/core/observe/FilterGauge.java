package io.lambdadispatcher.core.observe;

import java.util.Objects;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Something that a filter measures, for the whole dispatcher. It becomes a metric without a line of
 * code for it in what reports metrics.
 *
 * @param name what is measured, in lower case, such as {@code cache.memory}
 * @param unit the unit of the value, such as {@code bytes}; {@code null} = a number
 * @param description one sentence about it
 * @param rises whether the value never falls, so that it is a counter
 * @param value read by any thread, so it must not block
 */
public record FilterGauge(String name, @Nullable String unit, String description, boolean rises, DoubleSupplier value) {
    public FilterGauge {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(description, "description");
        Objects.requireNonNull(value, "value");
    }
}
