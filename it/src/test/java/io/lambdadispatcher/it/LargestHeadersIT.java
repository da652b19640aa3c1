package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Sends the largest request headers that any limits permit. */
class LargestHeadersIT {
    private static final int HEADER_BYTES = 128 * 1024;
    private static final int HEADERS = 1_000;
    private static final int REQUEST_LINE_BYTES = 64 * 1024;

    /**
     * They fit in one frame of a worker stream, together with what the dispatcher adds. Otherwise,
     * the stream would be reset.
     */
    @Test
    void should_pass_on_the_largest_headers_that_limits_permit() throws Exception {
        HttpLimits limits = HttpLimits.builder()
                .maxHeaderBytes(HEADER_BYTES)
                .maxHeaders(HEADERS)
                .maxRequestLineBytes(REQUEST_LINE_BYTES)
                .build();
        try (Rig rig = Rig.start(Rig.function().build(), DispatcherObserver.NONE, builder -> builder.limits(limits))) {
            rig.worker(1, 1);
            try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
                socket.setSoTimeout(30_000);
                socket.getOutputStream().write(largest().getBytes(StandardCharsets.ISO_8859_1));
                assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                        .startsWith("HTTP/1.1 200")
                        .endsWith("pong");
            }
            rig.awaitAllFree();
            assertThat(rig.pool().streams()).isEqualTo(1);
        }
    }

    private static String largest() {
        StringBuilder head = new StringBuilder("GET /ping?")
                .append("q".repeat(REQUEST_LINE_BYTES - 100))
                .append(" HTTP/1.1\r\nhost: ")
                .append("h".repeat(300))
                .append("\r\nconnection: close\r\n");
        int others = HEADERS - 2;
        int bytes = (HEADER_BYTES - 500) / others;
        for (int i = 0; i < others; i++) {
            String name = "a" + i + ": ";
            head.append(name).append("v".repeat(bytes - name.length() - 2)).append("\r\n");
        }
        return head.append("\r\n").toString();
    }
}
