package com.example.tally;

import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Serves {@link TallyService} without TLS on loopback. The environment variable {@code PORT} is its
 * port.
 */
public final class TallyServer {
    private TallyServer() {}

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "50051"));
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port))
                .addService(new TallyService())
                .build()
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server)));
        server.awaitTermination();
    }

    private static void stop(Server server) {
        try {
            if (!server.shutdown().awaitTermination(5, TimeUnit.SECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
        }
    }
}
