package io.lambdadispatcher.core.observe;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A fleet as one of its dispatchers sees it. It is at most a few seconds old.
 *
 * @param dispatcher id of the dispatcher that sees it, new at each start
 * @param leaseValid whether the dispatcher may launch workers. If not, it has not reached the
 *     ledger for some seconds
 * @param leaseAgeMillis time since the dispatcher last renewed its lease; -1 = never
 * @param members the dispatchers of the fleet, this one first
 * @param functions the functions whose workers the dispatcher launches
 * @param unreadable keys of the entries of the ledger that the dispatcher cannot read. It ignores
 *     them, except that it launches no workers of a function whose entry {@code function/NAME} is
 *     one of them
 */
public record FleetSnapshot(
        String dispatcher,
        boolean leaseValid,
        long leaseAgeMillis,
        List<Member> members,
        List<FunctionSlots> functions,
        List<String> unreadable) {

    /**
     * One dispatcher of the fleet.
     *
     * @param alive whether it renews its lease. If not, the others take over its workers
     * @param addresses the addresses that workers dial, as {@code host:port}
     * @param zone its availability zone; empty = not known
     * @param version its software version; empty = not known
     * @param silentMillis time without a renewal that this dispatcher could have seen
     * @param streams worker streams that its clients need, by function
     */
    public record Member(
            String id,
            boolean alive,
            List<String> addresses,
            String zone,
            String version,
            long silentMillis,
            Map<String, Double> streams) {}

    /**
     * What the fleet shares about one function.
     *
     * @param launching whether the kill switch of the fleet is off
     * @param workers workers that may run and are not being replaced. The maximum of workers limits
     *     this number
     * @param replaced workers that may still run and are being replaced or have just ended
     * @param owned workers that this dispatcher drains and replaces
     * @param reserved permissions to launch that this dispatcher has not used yet
     * @param launchesInLastMinute launches of the fleet in the last 60 s
     * @param gbSecondsLastHour GB-seconds of the fleet in the last hour, rounded up to 5 minutes
     * @param conflict which dispatcher has other limits for the function, in one line; {@code null}
     *     = none
     */
    public record FunctionSlots(
            String function,
            boolean launching,
            int workers,
            int replaced,
            int owned,
            int reserved,
            int launchesInLastMinute,
            double gbSecondsLastHour,
            @Nullable String conflict) {}
}
