package io.lambdadispatcher.core.internal.fleet;

import java.util.List;

/**
 * What the other dispatchers of the fleet are told of one.
 *
 * @param addresses the addresses that workers dial, as {@code host:port}
 * @param zone availability zone; empty = not known
 * @param version software version
 */
public record MemberDescription(List<String> addresses, String zone, String version) {}
