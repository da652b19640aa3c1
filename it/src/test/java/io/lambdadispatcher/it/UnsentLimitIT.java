package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.server.config.TransportKind;
import io.lambdadispatcher.server.transport.TransportChoice;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests that the kernel buffers little for a client that reads nothing, instead of megabytes. */
class UnsentLimitIT {
    private static final int IMAGES = 20;

    @Test
    void should_serve_few_responses_to_a_client_that_takes_none() throws Exception {
        Transport transport = TransportChoice.of(TransportKind.AUTO).transport();
        assumeTrue(!transport.name().equals("nio"), "NIO cannot limit what the kernel takes");
        RecordingObserver observer = new RecordingObserver();
        try (Rig rig = Rig.start(Rig.function().build(), observer, builder -> builder.transport(transport));
                Socket client = new Socket()) {
            rig.worker(1, 20);
            client.setReceiveBufferSize(4096);
            client.connect(new InetSocketAddress("127.0.0.1", rig.plainPort()));
            String get = "GET /public/silly-test-image.jpg HTTP/1.1\r\nHost: a\r\n\r\n";
            client.getOutputStream().write(get.repeat(IMAGES).getBytes(StandardCharsets.US_ASCII));
            Await.until("an image waits", () -> rig.pool().free() < rig.pool().streams() || !observer.ends.isEmpty());
            Await.settled("responses", Duration.ofMillis(500), observer.ends::size);
            assertThat(observer.ends).hasSizeLessThan(IMAGES / 4);
        }
    }
}
