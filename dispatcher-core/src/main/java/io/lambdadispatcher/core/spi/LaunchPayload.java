package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.worker.HostPort;
import io.lambdadispatcher.wire.worker.WireLimits;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes the JSON that tells a worker its identity and the addresses to dial. It is the event of a
 * worker's Lambda invocation. Other launchers pass on the same JSON. {@code
 * docs/reference/protocol.md} describes each member.
 */
public final class LaunchPayload {
    private LaunchPayload() {}

    /** Returns the JSON for a new worker. */
    public static String json(LaunchRequest request) {
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
        members.put("tls", !request.tlsFingerprints().isEmpty());
        if (!request.tlsFingerprints().isEmpty()) {
            members.put("tlsFingerprint", String.join(",", request.tlsFingerprints()));
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
