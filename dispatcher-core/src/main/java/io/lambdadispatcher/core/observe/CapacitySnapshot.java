package io.lambdadispatcher.core.observe;

import org.jspecify.annotations.Nullable;

/**
 * The state of one function's launching at a moment.
 *
 * @param wanted workers that the traffic needs, within the capacity policy and the spending limit
 * @param coming workers that are launched but not ready
 * @param ready workers that take requests, ejected ones included
 * @param draining workers that take no more requests
 * @param ejected workers that get no requests for a while, because they failed or were slow when others were not
 * @param launchesInLastMinute launches of the last 60 s
 * @param gbSecondsLastHour GB-seconds of the last hour, by the memory given in the launch limits
 * @param gbSecondsTotal GB-seconds since the dispatcher started
 * @param obstacle the reason, in one line, why fewer workers are launched than wanted; {@code null} if there is none
 */
public record CapacitySnapshot(
        String function,
        int wanted,
        int coming,
        int ready,
        int draining,
        int ejected,
        int launchesInLastMinute,
        double gbSecondsLastHour,
        double gbSecondsTotal,
        @Nullable String obstacle) {}
