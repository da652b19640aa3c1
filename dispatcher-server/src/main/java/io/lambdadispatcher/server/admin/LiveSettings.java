package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.core.spi.FilterCommand;
import java.util.List;
import java.util.Map;

/** What commands can change while the dispatcher runs, except workers and launching. Any thread. */
public interface LiveSettings {
    /** There is no configuration, so nothing can be set. */
    LiveSettings NONE = new LiveSettings() {
        @Override
        public Map<String, Integer> setWeights(Map<String, String> weights) {
            throw new IllegalStateException("this dispatcher has no configuration");
        }

        @Override
        public List<FilterCommand> filterCommands() {
            return List.of();
        }

        @Override
        public long tellFilter(FilterCommand command) {
            throw new IllegalStateException("this dispatcher has no configuration");
        }

        @Override
        public String setLogLevel(String level) {
            throw new IllegalStateException("this dispatcher has no configuration");
        }
    };

    /**
     * Changes the weights of functions that share a route, all or none.
     *
     * @param weights by name of the function, as they were given
     * @return the weights in force of all functions that share a route
     * @throws IllegalArgumentException if nothing has changed because something is wrong. The
     *     message says what, in one line
     * @throws IllegalStateException if the dispatcher is starting or closing
     */
    Map<String, Integer> setWeights(Map<String, String> weights);

    /** Returns what the filters can be told. */
    List<FilterCommand> filterCommands();

    /**
     * Tells a filter to do something, and those of the other dispatchers of a fleet.
     *
     * @return the number that this one answers with
     * @throws IllegalStateException if the dispatcher is starting or closing, or the others cannot
     *     be told within 5 s
     */
    long tellFilter(FilterCommand command);

    /**
     * Changes the level of the dispatcher's own log.
     *
     * @param level as it was given
     * @return the level in force
     * @throws IllegalArgumentException if there is no such level. The message says that in one line
     * @throws IllegalStateException if the dispatcher is starting or closing
     */
    String setLogLevel(String level);
}
