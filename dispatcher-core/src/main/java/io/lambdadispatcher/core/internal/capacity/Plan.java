package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.util.List;

/**
 * What must be done with the workers of one function. {@link CapacityController#onLaunched} must be
 * called for each worker that is launched. What becomes of the others is told by the events that
 * they cause.
 *
 * @param launches workers to launch
 * @param drains workers that must exit soon
 * @param kills workers to terminate by force
 * @param limits workers with another maximum of concurrent exchanges
 * @param shareChanges workers that must be told how many downstream connections they may have
 *     from now on
 * @param ungranted how many more workers would be launched if the fleet permitted them
 * @param asksVersion whether the launcher should be asked for its version early, because a worker
 *     had another one than the launcher has named
 */
public record Plan(
        List<Launch> launches,
        List<Drain> drains,
        List<Kill> kills,
        List<Limit> limits,
        List<ShareChange> shareChanges,
        int ungranted,
        boolean asksVersion) {

    /** Nothing is to be done. */
    public static final Plan NOTHING = new Plan(List.of(), List.of(), List.of(), List.of(), List.of(), 0, false);

    /**
     * The launch of one worker. Its exit must be reported later, even if the launch fails.
     *
     * @param version the version that it must have; empty = the launcher chooses
     * @param downstreamShare how many downstream connections it may open; 0 = not limited
     * @param reason why it is launched, for operators
     */
    public record Launch(String version, int downstreamShare, String reason) {}

    /**
     * A worker gets no more requests, and exits when it has answered those in flight.
     *
     * @param graceNanos time after which it exits even if it has not answered them
     * @param why why it must exit, for operators
     */
    public record Drain(String workerId, DrainCode reason, long graceNanos, String why) {}

    /** @param reason predicate of a sentence about the worker */
    public record Kill(String workerId, String reason) {}

    /**
     * @param exchanges maximum of concurrent exchanges
     * @param reason for the log, in one line
     */
    public record Limit(String workerId, int exchanges, String reason) {
        /** As many as the worker takes. */
        public static final int NONE = Integer.MAX_VALUE;
    }

    /** @param connections 1 or more */
    public record ShareChange(String workerId, int connections) {}
}
