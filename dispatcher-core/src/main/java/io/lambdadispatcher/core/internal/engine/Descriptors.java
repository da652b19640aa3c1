package io.lambdadispatcher.core.internal.engine;

import com.sun.management.UnixOperatingSystemMXBean;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.Collections;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reserves file descriptors for workers and AWS. A process without free descriptors can neither
 * accept nor open connections, nor load classes: a class loader that cannot open a jar ignores it
 * from then on, so that its classes are missing until the process ends. Immutable.
 *
 * @param max how many descriptors the process can have
 * @param open how many it has before the first client connects
 */
public record Descriptors(long max, long open) {
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

    /**
     * Descriptors that clients leave free in any case: for workers, and for files that are open for
     * a moment.
     */
    private static final int SPARE = 64;

    /** The maximum number of connections that an event loop accepts in one turn. */
    private static final int MAX_ACCEPTS = 256;

    /** No jar has a file of this name, so all are opened in search of it. */
    private static final String NO_RESOURCE = "io/lambdadispatcher/core/no-resource";

    /**
     * Returns the descriptors of this process. Call it when the event loops exist, and before ports
     * are open.
     */
    public static Descriptors ofProcess() {
        openJars();
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                ? new Descriptors(unix.getMaxFileDescriptorCount(), Math.max(0, unix.getOpenFileDescriptorCount()))
                : new Descriptors(Long.MAX_VALUE, 0);
    }

    /** Opens all jars of the class path, which otherwise happens as late as possible. */
    private static void openJars() {
        try {
            ClassLoader loader = Objects.requireNonNull(Descriptors.class.getClassLoader());
            Collections.list(loader.getResources(NO_RESOURCE));
        } catch (IOException e) {
            log.debug("not all jars of the class path could be opened", e);
        }
    }

    /**
     * Returns how many client connections the process can have. Logs a warning if {@code limits}
     * allow more.
     */
    public int forClients(HttpLimits limits, Collection<FunctionOptions> functions) {
        return forClients(limits.maxConnections(), reserve(functions));
    }

    int forClients(int wanted, long reserve) {
        // At least half are for clients, because even with a small limit some clients must be
        // served. But they get only what is free.
        long left = Math.max(1, Math.min(Math.max(max - reserve, max / 2), max - open - SPARE));
        if (left >= wanted) {
            return wanted;
        }
        log.warn(
                "http.max-connections: {}, but the process may open only {} files and keeps {} for workers:"
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

    /**
     * Returns how many connections an event loop may accept in one turn, before it closes those
     * that are too many. They take descriptors until then.
     *
     * @param clients the result of {@link #forClients}
     */
    public int acceptsPerTurn(int clients) {
        return (int) Math.max(1, Math.min(MAX_ACCEPTS, (max - open - clients) / 2));
    }
}
