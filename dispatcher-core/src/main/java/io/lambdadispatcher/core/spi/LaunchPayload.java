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
 * Writes the JSON that tells a worker its identity and the addresses to dial. It is the event of a
 * worker's Lambda invocation. Other launchers pass on the same JSON. {@code
 * docs/reference/protocol.md} describes each member.
 */
public final class LaunchPayload {
    private LaunchPayload() {}

    /**
     * Returns the JSON for a new worker.
     *
     * @param tlsFingerprint the hexadecimal SHA-256 of the only dispatcher certificate that the
     *     worker accepts; {@code null} = the worker verifies the certificate with its trusted
     *     authorities
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
     * Returns the address that a worker dials. A wildcard address cannot be dialled, so it becomes
     * the loopback address, which workers on the same machine can dial.
     */
    private static String hostAndPort(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        String host = ip != null && ip.isAnyLocalAddress()
                ? InetAddress.getLoopbackAddress().getHostAddress()
                : address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }
}
