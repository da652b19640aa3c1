package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.lambdadispatcher.wire.testkit.Await;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Tests clients that make the dispatcher hold more data than it may. A good client is served
 * concurrently, no worker connection is lost, and the held data stays below the limit.
 */
class OverloadIT {
    private static final int LIMIT = 16 << 20;

    private static final RecordingObserver observer = new RecordingObserver();

    private static final PrometheusMeterRegistry metrics = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    /** The metrics when a client was cut off. The level decreases within the same task. */
    private static volatile String metricsAtCut = "";

    private static Rig rig;
    private static Path large;

    private final List<SocketChannel> attackers = new ArrayList<>();

    @BeforeAll
    static void start() throws IOException {
        HttpLimits limits = HttpLimits.builder()
                .clientMemoryBytes(LIMIT)
                .maxConnections(400)
                .build();
        // This function has no worker, so its requests wait until their timeout.
        FunctionOptions parked = FunctionOptions.builder("parked")
                .queue(1000, Duration.ofSeconds(10))
                .build();
        rig = Rig.start(
                FunctionOptions.builder("demo").streamsPerConnection(200).build(),
                observer,
                builder -> builder.limits(limits)
                        .eventLoops(1)
                        .observer(new DispatcherObserver() {
                            @Override
                            public void onProtection(Protection protection) {
                                if (protection == Protection.MEMORY_CUT) {
                                    metricsAtCut = metrics.scrape();
                                }
                            }
                        })
                        .function(parked)
                        .router(head ->
                                RouteTarget.of(head.path().toString().startsWith("/parked") ? "parked" : "demo")));
        new DispatcherMetrics(metrics).watch(rig.dispatcher);
        large = Files.write(Files.createTempFile("overload", ".bin"), new byte[16 << 20]);
        Map<String, String> variables = new HashMap<>(Rig.DEMO);
        variables.put("DEMO_FILE", large.toString());
        rig.process(1, 200, variables);
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
        Files.delete(large);
    }

    @AfterEach
    void should_recover() throws Exception {
        for (SocketChannel attacker : attackers) {
            attacker.close();
        }
        rig.awaitAllFree();
        assertThat(rig.pool().streams()).isEqualTo(200);
        Await.until(
                "memory of closed connections is free",
                () -> rig.dispatcher.clients().heldBytes() < LIMIT / 16);
        assertThat(rig.dispatcher.clients().level()).isZero();
        assertThat(observer.partings).isEmpty();
        observer.protections.clear();
    }

    private SocketChannel attacker(String head) {
        try {
            SocketChannel socket = SocketChannel.open(new InetSocketAddress("127.0.0.1", rig.plainPort()));
            attackers.add(socket);
            socket.configureBlocking(false);
            write(socket, head);
            return socket;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void write(SocketChannel socket, String head) {
        try {
            socket.write(ByteBuffer.wrap(head.getBytes(StandardCharsets.US_ASCII)));
        } catch (IOException e) {
            // The dispatcher has already closed the connection.
        }
    }

    /** Sends until the dispatcher stops reading. */
    private static void fill(SocketChannel socket) {
        try {
            ByteBuffer bytes = ByteBuffer.allocate(256 * 1024);
            while (bytes.hasRemaining() && socket.write(bytes) > 0) {}
        } catch (IOException e) {
            // The dispatcher has closed the connection.
        }
    }

    private void verifyGoodClient() throws Exception {
        assertThat(rig.client(HttpClient.Version.HTTP_1_1)
                        .send(HttpRequest.newBuilder(rig.http("/ping")).build(), BodyHandlers.ofString())
                        .body())
                .isEqualTo("pong");
        // Each connection may be read once more before the event loop closes any.
        assertThat(rig.dispatcher.clients().heldBytes()).isLessThan(2 * LIMIT);
    }

    /**
     * No worker takes these requests, and each connection may hold 256 KiB of its body. Some memory
     * remains for other functions.
     */
    @Test
    void should_refuse_those_whose_bodies_fill_the_memory_of_a_function() throws Exception {
        for (int i = 0; i < 300; i++) {
            fill(attacker("POST /parked HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n"));
        }
        Await.until("memory is used up", () -> {
            attackers.forEach(OverloadIT::fill);
            return observer.protections.contains(Protection.MEMORY_REFUSED);
        });
        // Reads between two checks may raise the level for a moment, but not so far that
        // connections are closed.
        Await.until(
                "other functions have memory", () -> rig.dispatcher.clients().level() == 0);
        verifyGoodClient();
    }

    /**
     * Each response waits to be written to a socket that the client does not read. It is limited to
     * 256 KiB, the window of a worker stream.
     */
    @Test
    void should_close_those_who_read_nothing() throws Exception {
        for (int i = 0; i < 150; i++) {
            attacker("GET /read HTTP/1.1\r\nhost: a\r\n\r\n");
        }
        Await.until("a client is cut off", () -> !metricsAtCut.isEmpty());
        assertThat(metricsAtCut).contains("lambda_dispatcher_client_memory_level 3.0\n");
        verifyGoodClient();
    }

    @Test
    void should_close_connections_beyond_the_maximum() throws Exception {
        verifyGoodClient();
        // Connections of earlier tests may close only now.
        Await.until("all are accepted", () -> {
            for (int i = rig.dispatcher.clients().connections(); i < 400; i++) {
                attacker("GET");
            }
            return rig.dispatcher.clients().connections() == 400;
        });
        Await.until("one too many is refused", () -> {
            attacker("GET");
            return observer.protections.contains(Protection.CONNECTION_LIMIT);
        });
        assertThat(rig.dispatcher.clients().connections()).isLessThanOrEqualTo(400);
    }
}
