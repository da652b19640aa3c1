package io.lambdadispatcher.wire.testkit;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for programs that cannot use port 0. Any thread. */
public final class FreePort {
    private static final int FIRST = 10_000;

    /** Above are the ports of benchmarks, and those that the kernel gives outgoing connections. */
    private static final int LAST = 19_999;

    /** Each test JVM on the machine has ports of its own, also if several builds run. */
    private static final int PORTS = 500;

    /** Its port says that the next {@link #PORTS} ports belong to this JVM. Open until it ends. */
    private static final ServerSocket CLAIM = claim();

    private static final Set<Integer> RETURNED = ConcurrentHashMap.newKeySet();

    private FreePort() {}

    private static ServerSocket claim() {
        for (int port = FIRST; port + PORTS <= LAST; port += PORTS + 1) {
            try {
                return new ServerSocket(port, 1);
            } catch (IOException e) {
                // Another JVM has these ports.
            }
        }
        throw new IllegalStateException("more test JVMs than ranges of " + PORTS + " ports from " + FIRST + " on");
    }

    /**
     * Returns a different port each time. No other program gets this port by chance before the
     * program listens.
     */
    public static int next() {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = CLAIM.getLocalPort() + 1 + ThreadLocalRandom.current().nextInt(PORTS);
            // On all addresses, because a program may listen on any.
            try (ServerSocket free = new ServerSocket(port, 1)) {
                if (RETURNED.add(free.getLocalPort())) {
                    return port;
                }
            } catch (IOException e) {
                // The port is in use.
            }
        }
        throw new IllegalStateException("no free port among 100 above " + CLAIM.getLocalPort());
    }
}
