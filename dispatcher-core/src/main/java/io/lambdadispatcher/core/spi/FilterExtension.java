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
     * Creates the filter of one dispatcher. The program calls this method only. Default: {@link
     * #create()}.
     *
     * @param values of {@link #programSettings}
     */
    default Filter create(ProgramSetting.Values values) {
        return create();
    }

    /**
     * Returns the settings of functions and routes that the filter reads. If some are {@code off}
     * by default, the others only refine them: a policy has their values if one of those is on.
     */
    List<FilterSetting<?>> settings();

    /** Returns the settings that the program has once for the filter. Default: none. */
    default List<ProgramSetting<?>> programSettings() {
        return List.of();
    }

    /** Returns what an operator can tell the filter. Default: nothing. */
    default List<FilterCommand> commands() {
        return List.of();
    }
}
