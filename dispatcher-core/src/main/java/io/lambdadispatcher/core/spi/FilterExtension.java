package io.lambdadispatcher.core.spi;

import java.util.List;

/**
 * A filter with settings of its own, which the standalone dispatcher finds as a service ({@link
 * java.util.ServiceLoader}). A program that embeds a dispatcher adds the filter itself, and what it
 * needs to a {@link io.lambdadispatcher.core.options.TrafficPolicy}.
 */
public interface FilterExtension {
    /** Creates the filter of one dispatcher. */
    Filter create();

    /**
     * Returns the settings of functions and routes that the filter reads. If some are {@code off}
     * by default, the others only refine them: a policy has their values if one of those is on.
     */
    List<FilterSetting<?>> settings();
}
