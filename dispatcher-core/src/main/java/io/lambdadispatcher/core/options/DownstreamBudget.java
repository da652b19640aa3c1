package io.lambdadispatcher.core.options;

/**
 * How a number of connections to something that all workers of a function use, for example to a
 * database, is divided among these workers. Each worker may open {@link #share} connections. The
 * share is fixed, so that no worker must close a connection before another one may be launched.
 *
 * <p>A part of the connections is kept for workers that replace others, because a worker is
 * replaced before it has ended: room for a quarter of the workers, and at least for one.
 *
 * @param connections maximum number of connections of all workers together, 2 or more
 * @param share maximum number of connections of one worker, 1 or more
 * @param maxWorkers maximum number of workers that are not being replaced, 1 or more
 * @param maxAlive maximum number of workers that exist at the same time: starting, serving,
 *     draining and ending. Multiplied by {@code share}, it is at most {@code connections}
 */
public record DownstreamBudget(int connections, int share, int maxWorkers, int maxAlive) {
    /** One worker of so many can be replaced while the others keep their share. */
    private static final int PARTS = 4;

    /**
     * Divides connections.
     *
     * @param connections maximum number of connections of all workers together
     * @param perWorker the number that each worker needs at least, 1 or more
     * @param minWorkers minimum number of workers
     * @param maxWorkers maximum number of workers, 1 or more. If there are not enough connections
     *     for as many workers and their replacements, the budget has a smaller maximum
     * @throws IllegalArgumentException if there are fewer connections than {@link #least} says
     */
    public static DownstreamBudget of(int connections, int perWorker, int minWorkers, int maxWorkers) {
        Check.that(perWorker >= 1, "downstreamConnectionsPerWorker", Check.number(perWorker), "1 or more");
        long least = least(perWorker, minWorkers);
        Check.that(
                connections >= least,
                "downstreamConnections",
                Check.number(connections),
                "at least " + least + ", which is room for " + Math.max(1, minWorkers) + " workers (minWorkers) and "
                        + replacements(Math.max(1, minWorkers)) + " replacements with " + perWorker
                        + " connections each");
        long most = (long) (connections / perWorker) * PARTS / (PARTS + 1);
        int workers = (int) Math.max(1, Math.min(maxWorkers, most));
        int share = connections / (workers + replacements(workers));
        return new DownstreamBudget(connections, share, workers, Math.min(2 * workers, connections / share));
    }

    /**
     * Returns the least number of connections that can be divided: enough for the minimum number of
     * workers, at least one, and their replacements.
     */
    public static long least(int perWorker, int minWorkers) {
        int workers = Math.max(1, minWorkers);
        return (long) perWorker * (workers + replacements(workers));
    }

    private static int replacements(int workers) {
        return (workers + PARTS - 1) / PARTS;
    }
}
