package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.worker.WireLimits;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The JSON that tells a worker who it is and whom to dial: the event of a worker's Lambda invoke,
 * and what other launchers pass on. {@code docs/reference/protocol.md} says what each member means.
 */
public final class LaunchPayload {
    private LaunchPayload() {}

    /**
     * @param tlsFingerprint SHA-256 of the one certificate that the worker takes for the
     *     dispatcher's, hexadecimal; {@code null} = what its authorities vouch for
     */
    public static String json(LaunchRequest request, @Nullable String tlsFingerprint) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("protocolVersion", WireLimits.PROTOCOL_VERSION);
        members.put("function", request.function());
        members.put("workerId", request.workerId());
        members.put("token", request.token());
        members.put(
                "addresses",
                request.advertisedAddresses().stream()
                        .map(LaunchPayload::hostAndPort)
                        .toList());
        members.put("connections", request.connections());
        members.put("streams", request.streamsPerConnection());
        members.put("tls", request.tls());
        if (tlsFingerprint != null) {
            members.put("tlsFingerprint", tlsFingerprint);
        }
        if (!request.maxLife().isZero()) {
            members.put("deadlineMillis", request.maxLife().toMillis());
        }
        return Json.write(members);
    }

    /**
     * A port on all interfaces cannot be dialled as such; a worker on the same machine finds it on
     * the loopback.
     */
    private static String hostAndPort(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        String host = ip != null && ip.isAnyLocalAddress()
                ? InetAddress.getLoopbackAddress().getHostAddress()
                : address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }
}
