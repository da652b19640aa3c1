package io.lambdadispatcher.server.launch;

import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import tools.jackson.databind.json.JsonMapper;

/** The JSON that tells a worker whom to dial, the same that an AWS Lambda gets as its event. */
record LaunchPayload(
        String function,
        String workerId,
        String token,
        List<String> addresses,
        int connections,
        int streams,
        boolean tls) {
    private static final JsonMapper MAPPER = JsonMapper.shared();

    static String json(LaunchRequest request) {
        return MAPPER.writeValueAsString(new LaunchPayload(
                request.function(),
                request.workerId(),
                request.token(),
                request.dialBack().stream().map(LaunchPayload::reachable).toList(),
                request.connections(),
                request.streamsPerConnection(),
                request.tls()));
    }

    /** A port on all interfaces cannot be dialled as such; a worker on this machine finds it on the loopback. */
    private static String reachable(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        String host = ip != null && ip.isAnyLocalAddress()
                ? InetAddress.getLoopbackAddress().getHostAddress()
                : address.getHostString();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }
}
