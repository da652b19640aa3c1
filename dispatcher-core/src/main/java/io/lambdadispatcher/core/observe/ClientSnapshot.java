package io.lambdadispatcher.core.observe;

/**
 * The client connections and their memory at a moment. The numbers are summed over event loops that
 * continue to run, so they are not from exactly the same moment.
 *
 * @param connections number of open client connections
 * @param heldBytes memory that is held for clients, in bytes, measured at most about a second ago
 * @param limitBytes maximum of {@code heldBytes}, see {@link
 *     io.lambdadispatcher.core.options.HttpLimits#clientMemoryBytes}
 * @param level what the dispatcher does about memory, on the event loop that has the least of it
 *     left: 0 = nothing; 1 = it buffers less of each request body; 2 = it refuses requests; 3 = it
 *     closes connections
 */
public record ClientSnapshot(int connections, long heldBytes, long limitBytes, int level) {}
