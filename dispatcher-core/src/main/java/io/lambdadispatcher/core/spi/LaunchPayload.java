package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.wire.worker.WireLimits;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * The JSON that tells a worker who it is and whom to dial: the event of a worker's Lambda invoke, and what other launchers pass on. The
 * worker's {@code InvokePayload} says what each field means.
 */
public final class LaunchPayload {
    private static final JsonFactory JSON = new JsonFactory();

    private LaunchPayload() {}

    /**
     * @param tlsFingerprint SHA-256 of the one certificate that the worker takes for the dispatcher's, hexadecimal; {@code null} = what its
     *     authorities vouch for
     */
    public static String json(LaunchRequest request, @Nullable String tlsFingerprint) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), text)) {
            json.writeStartObject();
            json.writeNumberProperty("protocolVersion", WireLimits.PROTOCOL_VERSION);
            json.writeStringProperty("function", request.function());
            json.writeStringProperty("workerId", request.workerId());
            json.writeStringProperty("token", request.token());
            json.writeArrayPropertyStart("addresses");
            request.dialBack().forEach(address -> json.writeString(hostAndPort(address)));
            json.writeEndArray();
            json.writeNumberProperty("connections", request.connections());
            json.writeNumberProperty("streams", request.streamsPerConnection());
            json.writeBooleanProperty("tls", request.tls());
            if (tlsFingerprint != null) {
                json.writeStringProperty("tlsFingerprint", tlsFingerprint);
            }
            if (!request.maxLife().isZero()) {
                json.writeNumberProperty("deadlineMillis", request.maxLife().toMillis());
            }
            json.writeEndObject();
        }
        return text.toString();
    }

    /** A port on all interfaces cannot be dialled as such; a worker on the same machine finds it on the loopback. */
    private static String hostAndPort(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        String host = ip != null && ip.isAnyLocalAddress()
                ? InetAddress.getLoopbackAddress().getHostAddress()
                : address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }
}
