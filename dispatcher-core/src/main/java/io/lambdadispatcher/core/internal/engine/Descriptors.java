package io.lambdadispatcher.core.internal.engine;

import com.sun.management.UnixOperatingSystemMXBean;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reserves file descriptors for workers and AWS. A process without free descriptors can neither
 * accept nor open connections.
 */
public final class Descriptors {
    private static final Logger log = LoggerFactory.getLogger(Descriptors.class);

    /**
     * Jars, logs, event loops, listening sockets, and the connections of the admin port and of
     * self-launched workers.
     */
    private static final int RESERVE = 256;

    /**
     * Descriptors of a launched worker besides its connections: the invocation that runs it, or the
     * pipes of its process.
     */
    private static final int PER_WORKER = 3;

    private Descriptors() {}

    /**
     * Returns how many client connections the process can have. Logs a warning if {@code limits}
     * allow more.
     */
    public static int forClients(HttpLimits limits, Collection<FunctionOptions> functions) {
        return forClients(limits.maxConnections(), reserve(functions), maxDescriptors());
    }

    static int forClients(int wanted, long reserve, long max) {
        // At least half are for clients, because even with a small limit some clients must be
        // served.
        long left = Math.max(max - reserve, max / 2);
        if (left >= wanted) {
            return wanted;
        }
        log.warn(
                "maxConnections: {}, but the process may open only {} files and keeps {} for workers:"
                        + " at most {} client connections are served. Raise the limit (ulimit -n) to at least {}.",
                wanted,
                max,
                max - left,
                left,
                wanted + reserve);
        return (int) left;
    }

    /**
     * Returns how many descriptors are not for clients. Launched workers count twice, because there
     * are twice as many while all are being replaced.
     */
    static long reserve(Collection<FunctionOptions> functions) {
        return RESERVE
                + functions.stream()
                        .mapToLong(function ->
                                2L * function.capacity().maxWorkers() * (function.connectionsPerWorker() + PER_WORKER))
                        .sum();
    }

    private static long maxDescriptors() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                ? unix.getMaxFileDescriptorCount()
                : Long.MAX_VALUE;
    }
}
