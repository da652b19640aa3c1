package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.lambdadispatcher.wire.testkit.HostileText;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Peers that are not authenticated try to add lines to the log, and to control a terminal. */
class LogLinesIT {
    private static final String LINE = "\n2026-11-24T10:12:07.181Z INFO  audit: forged\u001b[31m\u009b";

    /** The preface, SETTINGS, and a GET of a path with two C1 controls. */
    private static final String HTTP2_GET = "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a" + "000000040000000000"
            + "00000801050000000182860404" + "2f859b7a";

    private static void send(int port, byte[] bytes) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write(bytes);
            socket.getInputStream().readAllBytes();
        } catch (SocketException e) {
            // The dispatcher has reset the connection.
        }
    }

    private static void send(int port, String text) throws IOException {
        send(port, text.getBytes(StandardCharsets.ISO_8859_1));
    }

    @Test
    void should_write_one_printable_line_of_each_peer() throws Exception {
        int port = FreePort.next();
        Map<String, String> settings = Map.of(
                "LOG_LEVEL",
                "debug",
                "PUBLIC_PLAIN_PORT",
                port + " proxy-protocol",
                "WORKERS_TLS_CERTIFICATE",
                "off",
                "ADMIN_TOKEN",
                "a-token-that-nobody-sends-here-0001");
        try (ServedProgram program = ServedProgram.start(settings)) {
            send(port, "PROXY TCP4 10.1.1.1" + LINE + "\r\n");
            send(program.workersPort, ByteBufUtil.decodeHexDump(HTTP2_GET));
            send(
                    program.adminPort,
                    "POST /launching?to=\u0085\u009b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            Await.until(
                    "all peers are logged",
                    Duration.ofSeconds(30),
                    () -> List.of(" WARN  ProxyHeaderHandler: ", " WARN  Incidents: ", " WARN  audit: ").stream()
                            .allMatch(program.log()::contains));

            List<String> lines = List.of(program.log().split("\n"));
            assertThat(lines).allMatch(line -> HostileText.isPrintable(line.replaceFirst("^\t+", "")));
            assertThat(lines).noneMatch(line -> line.startsWith("2026-11-24T10:12:07.181Z"));
            assertThat(lines)
                    .filteredOn(line -> line.matches("\\S+ \\S+ +audit: .*"))
                    .hasSize(1);
            assertThat(lines)
                    .anyMatch(line -> line.contains(
                            "PROXY TCP4 10.1.1.1\\u000a2026-11-24T10:12:07.181Z INFO  audit: forged\\u001b[31m"))
                    .anyMatch(line -> line.contains("GET /\\u0085\\u009b"))
                    .anyMatch(line -> line.contains("audit: POST /launching?to=\\u0085\\u009b from "));
        }
    }
}
