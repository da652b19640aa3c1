package io.lambdadispatcher.core.internal.capacity;

import org.jspecify.annotations.Nullable;

/**
 * What is known about a worker that its connections do not tell.
 *
 * @param starting whether it has no connection, but is expected to connect
 * @param launched whether the dispatcher launched it
 * @param ageNanos time since its launch or, if it is self-launched, since it connected
 * @param ejection why it gets no requests for some time; {@code null} if it is not ejected
 * @param launchReason why it was launched; empty if this dispatcher has not launched it
 * @param endReason why it drains; empty if it does not
 */
public record WorkerFacts(
        boolean starting,
        boolean launched,
        long ageNanos,
        @Nullable String ejection,
        String launchReason,
        String endReason) {}
