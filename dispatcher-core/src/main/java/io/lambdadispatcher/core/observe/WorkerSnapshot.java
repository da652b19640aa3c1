package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One worker at a moment. The numbers come from event loops that continue to run, so they are not
 * from exactly the same moment. Immutable.
 *
 * @param function the name of the function
 * @param workerId the id of the worker
 * @param state what the worker does
 * @param launched whether it is a {@link WorkerKind#LAUNCHED} worker; false = a base worker
 * @param remoteAddress the address of one of its connections; {@code null} if it has none
 * @param since when it was launched, or connected if another one launched it or it is a base worker
 * @param deadline when it must have exited; {@code null} if there is no deadline, or none is known
 * @param connections number of its connections
 * @param streams number of its open worker streams
 * @param busy number of requests that it has
 * @param limit maximum number of concurrent requests that it gets now; 0 if it gets none
 * @param completed requests that it has ended since it connected
 * @param failed those of {@code completed} without a complete response, or with a status of 500 or
 *     above
 * @param load its latest report; {@code null} before the first one
 * @param ejection why it gets no requests for some time, in one line; {@code null} if it is not
 *     ejected
 * @param version the version of the function's code, as the worker says; empty if it does not
 * @param logStream the name of the log that has its output, as the worker says; empty if it does
 *     not
 * @param zone the availability zone in which it runs, as the worker says; empty if it does not
 * @param launchReason why it was launched, for example {@code minimum} or {@code 12 waiting
 *     requests}; empty if this dispatcher has not launched it
 * @param endReason why it drains, for example {@code deadline}; empty if it does not
 */
public record WorkerSnapshot(
        String function,
        String workerId,
        State state,
        boolean launched,
        @Nullable SocketAddress remoteAddress,
        Instant since,
        @Nullable Instant deadline,
        int connections,
        int streams,
        int busy,
        int limit,
        long completed,
        long failed,
        @Nullable Load load,
        @Nullable String ejection,
        String version,
        String logStream,
        String zone,
        String launchReason,
        String endReason) {

    /** What a worker does. */
    public enum State {
        /** It was launched, or has lost its connections. It is expected to connect. */
        STARTING,
        /** It is connected, but does not take requests yet, or not for now. */
        UNREADY,
        /** It takes requests. */
        READY,
        /** It takes no requests for some time, because it failed or was slow. */
        EJECTED,
        /** It finishes its requests and then exits. */
        DRAINING
    }

    /**
     * A worker's report of its load.
     *
     * @param cpuPermille CPU time since the previous report, in thousandths of one core
     * @param memoryPermille the part of the heap that is in use, in thousandths
     * @param loopLagMicros the longest delay of its event loop, in microseconds
     */
    public record Load(int cpuPermille, int memoryPermille, int loopLagMicros) {}
}
