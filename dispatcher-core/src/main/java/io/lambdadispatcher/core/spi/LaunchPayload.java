package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.worker.HostPort;
import io.lambdadispatcher.wire.worker.WireLimits;
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
        members.put("protocolVersion", WireLimits.PAYLOAD_VERSION);
        members.put("function", request.function());
        members.put("workerId", request.workerId());
        members.put("token", request.token());
        members.put(
                "addresses",
                request.advertisedAddresses().stream().map(HostPort::text).toList());
        members.put("connections", request.connections());
        members.put("streams", request.streamsPerConnection());
        members.put("tls", request.tls());
        if (tlsFingerprint != null) {
            members.put("tlsFingerprint", tlsFingerprint);
        }
        if (!request.maxLife().isZero()) {
            members.put("deadlineMillis", request.maxLife().toMillis());
        }
        if (request.downstreamShare() > 0) {
            members.put("downstreamShare", request.downstreamShare());
        }
        return Json.write(members);
    }
}
