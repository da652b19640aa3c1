package io.lambdadispatcher.server.admin;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Slows clients down that try tokens. The answer to a wrong token is delayed, twice as long after
 * each further one from the same address. A right token is always accepted immediately, so that
 * nobody can lock others out by guessing. Confined to the port's event loop.
 */
final class Guesses {
    private static final long FIRST_DELAY_MILLIS = 125;
    private static final int MAX_DOUBLINGS = 5;
    private static final long FORGOTTEN_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final int MAX_ADDRESSES = 1024;
    private static final int IPV6_PREFIX_BYTES = 8;

    /** @param lastNanos time of the last wrong token */
    private record Wrong(int count, long lastNanos) {}

    /** The address with the oldest wrong token comes first. */
    private final Map<Object, Wrong> byAddress = new LinkedHashMap<>();

    /** Returns how long the answer to a wrong token must wait. */
    long delayMillis(SocketAddress remote, long nowNanos) {
        Object address = network(remote);
        Wrong before = byAddress.remove(address);
        int count = before == null || nowNanos - before.lastNanos > FORGOTTEN_NANOS ? 0 : before.count;
        if (byAddress.size() == MAX_ADDRESSES) {
            byAddress.remove(byAddress.keySet().iterator().next());
        }
        byAddress.put(address, new Wrong(Math.min(count + 1, MAX_DOUBLINGS), nowNanos));
        return FIRST_DELAY_MILLIS << count;
    }

    /** A host with IPv6 has a network of 64 bits, and any address in it. */
    static Object network(SocketAddress remote) {
        InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
        return address instanceof Inet6Address
                ? ByteBuffer.wrap(Arrays.copyOf(address.getAddress(), IPV6_PREFIX_BYTES))
                : address == null ? remote : address;
    }
}
