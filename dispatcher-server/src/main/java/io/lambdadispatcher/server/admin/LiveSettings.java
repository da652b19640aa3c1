package io.lambdadispatcher.server.admin;

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
        public long clearCache() {
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

    /**
     * Removes all stored responses.
     *
     * @return the memory that they had, in bytes
     * @throws IllegalStateException if the dispatcher is starting or closing
     */
    long clearCache();

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
