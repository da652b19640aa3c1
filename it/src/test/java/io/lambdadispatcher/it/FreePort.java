package io.lambdadispatcher.it;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for programs that cannot use port 0. Any thread. */
public final class FreePort {
    /** The ports end below the kernel's range for outgoing connections, which is 32768 to 60999. */
    private static final int FIRST = 10_000;

    /** Each test JVM of a build has ports of its own. */
    private static final int PORTS = 2_000;

    private static final int JVM = Integer.getInteger("surefire.forkNumber", 0) % 10;
    private static final Set<Integer> RETURNED = ConcurrentHashMap.newKeySet();

    private FreePort() {}

    /**
     * Returns a different port each time. No other program gets this port by chance before the
     * program listens.
     */
    public static int next() {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = FIRST + JVM * PORTS + ThreadLocalRandom.current().nextInt(PORTS);
            try (ServerSocket free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                if (RETURNED.add(free.getLocalPort())) {
                    return port;
                }
            } catch (IOException e) {
                // The port is in use.
            }
        }
        throw new IllegalStateException("no free port among 100 from " + (FIRST + JVM * PORTS) + " on");
    }
}
