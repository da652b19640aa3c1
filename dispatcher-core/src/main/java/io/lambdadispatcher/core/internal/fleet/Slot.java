package io.lambdadispatcher.core.internal.fleet;

/**
 * The permission to run one worker, which is named by the worker's id. Times are in milliseconds
 * since 1970-01-01.
 *
 * @param owner id of the dispatcher that launches, drains and replaces the worker
 * @param grantedMillis when the permission was given
 * @param untilMillis when the worker has certainly ended, even if nobody is left to see it. The
 *     spending limit has been charged for the worker until then
 * @param seen whether the worker has connected to a dispatcher
 * @param replaced whether another worker may be launched in its place, because this one has ended,
 *     ends soon, or serves nobody
 * @param downstreamShare how many downstream connections the worker may open; 0 = not limited
 */
record Slot(String owner, long grantedMillis, long untilMillis, boolean seen, boolean replaced, int downstreamShare) {

    Slot ownedBy(String dispatcher) {
        return new Slot(dispatcher, grantedMillis, untilMillis, seen, replaced, downstreamShare);
    }

    Slot until(long millis) {
        return new Slot(owner, grantedMillis, millis, seen, replaced, downstreamShare);
    }

    Slot asSeen() {
        return new Slot(owner, grantedMillis, untilMillis, true, replaced, downstreamShare);
    }

    Slot asReplaced() {
        return new Slot(owner, grantedMillis, untilMillis, seen, true, downstreamShare);
    }

    Slot withDownstreamShare(int connections) {
        return new Slot(owner, grantedMillis, untilMillis, seen, replaced, connections);
    }
}
