package io.lambdadispatcher.core.observe;

/**
 * What clients cost the dispatcher at a moment, summed over event loops that keep running while it
 * is taken.
 *
 * @param connections client connections
 * @param heldBytes memory held for clients, at most a second ago
 * @param limitBytes maximum of {@code heldBytes}
 * @param level what the dispatcher does about it, on the event loop where that is the most: 0 =
 *     nothing; 1 = it buffers less of each request body; 2 = it refuses requests; 3 = it closes
 *     connections
 */
public record ClientSnapshot(int connections, long heldBytes, long limitBytes, int level) {}
