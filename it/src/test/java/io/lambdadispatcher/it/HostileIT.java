package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Sends the bytes of hostile clients over real sockets. Each client gets a clear error or loses its
 * connection, and holds no resources afterwards. A good client is served immediately after it.
 */
class HostileIT {
    private static final int HEADER_TIMEOUT_MILLIS = 2_000;

    private static Rig rig;

    @BeforeAll
    static void start() {
        HttpLimits impatient = HttpLimits.builder()
                .headerTimeout(Duration.ofMillis(HEADER_TIMEOUT_MILLIS))
                .writeTimeout(Duration.ofSeconds(3))
                .build();
        rig = Rig.start(Rig.function().build(), DispatcherObserver.NONE, builder -> builder.limits(impatient));
        rig.worker(1, 20);
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
    }

    @AfterEach
    void should_serve_others_undisturbed() throws Exception {
        rig.awaitAllFree();
        assertThat(rig.pool().streams()).isEqualTo(20);
        assertThat(rig.client(HttpClient.Version.HTTP_1_1)
                        .send(HttpRequest.newBuilder(rig.http("/ping")).build(), BodyHandlers.ofString())
                        .body())
                .isEqualTo("pong");
    }

    // HTTP/1.1

    /** Sends the bytes and reads until the dispatcher closes. */
    private static String http1(String bytes) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
            return readAll(socket.getInputStream());
        }
    }

    private static String readAll(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try {
            in.transferTo(all);
        } catch (SocketException e) {
            // The connection was reset. The bytes before the reset count.
        }
        return all.toString(StandardCharsets.ISO_8859_1);
    }

    private static String status(String response) {
        return response.length() < 12 ? "none: " + response : response.substring(9, 12);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            POST /echo HTTP/1.1~Host: a~Content-Length: 4~Transfer-Encoding: chunked~~0~~      | 400
            POST /echo HTTP/1.1~Host: a~Transfer-Encoding: chunked~Content-Length: 4~~0~~      | 400
            POST /echo HTTP/1.1~Host: a~Content-Length: 4~Content-Length: 5~~abcde             | 400
            POST /echo HTTP/1.1~Host: a~Content-Length: 4, 4~~abcd                             | 400
            POST /echo HTTP/1.0~Host: a~Content-Length: 4~Content-Length: 5~~abcde             | 400
            POST /echo HTTP/1.1~Host: a~Content-Length: +4~~abcd                               | 400
            POST /echo HTTP/1.1~Host: a~Content-Length: -1~~abcd                               | 400
            POST /echo HTTP/1.1~Host: a~Content-Length: 0x4~~abcd                              | 400
            POST /echo HTTP/1.1~Host: a~Transfer-Encoding: gzip, chunked~~0~~                  | 501
            POST /echo HTTP/1.1~Host: a~Transfer-Encoding: xchunked~~0~~                       | 400
            POST /echo HTTP/1.1~Host: a~Transfer-Encoding: chunked~Transfer-Encoding: chunked~~0~~ | 400
            POST /echo HTTP/1.0~Host: a~Transfer-Encoding: chunked~~0~~                        | 400
            POST /silent HTTP/1.1~Host: a~Transfer-Encoding: chunked~~zz~~                     | 400
            GET /ping HTTP/1.1~Host: a~X: 1~ folded~~                                          | 400
            ~~GET /ping HTTP/1.1~Host: a~X: 1~ folded~~                                        | 400
            GET /ping HTTP/1.1~Host : a~~                                                      | 400
            GET /ping HTTP/1.1~Host: a~X Y: 1~~                                                | 400
            GET /ping HTTP/1.1~~                                                               | 400
            GET /ping HTTP/1.1~Host: a~Host: a~~                                               | 400
            GET /ping HTTP/1.1~Host: a b~~                                                     | 400
            GET http:///ping HTTP/1.1~Host: a~~                                                | 400
            GET /ping#x HTTP/1.1~Host: a~~                                                     | 400
            GET ping HTTP/1.1~Host: a~~                                                        | 400
            CONNECT a:1 HTTP/1.1~Host: a~~                                                     | 501
            GET /ping HTTP/1.1~Host: a~Expect: miracles~~                                      | 417
            """)
    void should_refuse_shapes_on_which_servers_may_disagree(String request, String expected) throws Exception {
        assertThat(status(http1(request.strip().replace("~", "\r\n")))).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(ints = {0x00, 0x0A, 0x0B, 0x0C, 0x0D})
    void should_refuse_control_bytes_in_a_field_value(int value) throws Exception {
        String response = http1("GET /ping HTTP/1.1\r\nHost: a\r\nX: a" + (char) value + "b\r\n\r\n");
        assertThat(status(response)).isEqualTo("400");
    }

    @Test
    void should_refuse_a_folded_line_wherever_the_bytes_are_split() throws Exception {
        String request = "GET /ping HTTP/1.1\r\nHost: a\r\nX: 1\r\n\tfolded\r\n\r\n";
        for (int split : new int[] {19, 20, 21, 30, 36, 37, 38, 39}) {
            try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
                socket.setTcpNoDelay(true);
                socket.setSoTimeout(30_000);
                OutputStream out = socket.getOutputStream();
                out.write(request.substring(0, split).getBytes(StandardCharsets.US_ASCII));
                out.flush();
                Thread.onSpinWait();
                out.write(request.substring(split).getBytes(StandardCharsets.US_ASCII));
                assertThat(status(readAll(socket.getInputStream())))
                        .as("split at " + split)
                        .isEqualTo("400");
            }
        }
    }

    @Test
    void should_name_the_limit_of_a_large_head_and_of_a_long_request_line() throws Exception {
        String head = http1("GET /ping HTTP/1.1\r\nHost: a\r\nX: " + "x".repeat(70_000) + "\r\n\r\n");
        assertThat(status(head)).isEqualTo("431");
        assertThat(head).contains("65536");
        String fields = http1("GET /ping HTTP/1.1\r\nHost: a\r\n" + "X: 1\r\n".repeat(300) + "\r\n");
        assertThat(status(fields)).isEqualTo("431");
        assertThat(fields).contains("200");
        String line = http1("GET /" + "x".repeat(20_000) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        assertThat(status(line)).isEqualTo("414");
        assertThat(line).contains("16384");
    }

    @Test
    void should_answer_408_to_a_head_that_never_ends() throws Exception {
        assertThat(status(http1("GET /ping HTTP/1.1\r\nHost: a\r\n"))).isEqualTo("408");
    }

    @Test
    void should_answer_pipelined_requests_in_order_and_the_malformed_one_last() throws Exception {
        String response = http1("GET /delay?delay=50 HTTP/1.1\r\nHost: a\r\n\r\nGET /ping HTTP/1.1\r\nHost: a\r\n\r\n"
                + "GET /ping HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n");
        assertThat(response.split("HTTP/1\\.1 ")).hasSize(4);
        assertThat(response.indexOf("delayed by 50 ms")).isBetween(0, response.indexOf("pong"));
        assertThat(response.indexOf("pong")).isLessThan(response.indexOf("400 Bad Request"));
    }

    /**
     * A client that reads nothing while a response waits is disconnected. Its worker stream is
     * freed.
     */
    /** Hostile clients send small parts, so the kernel's buffers are not what ends them. */
    private static void pause(int micros) {
        Await.nanoTime(System.nanoTime() + micros * 1000L);
    }

    @Test
    void should_cut_a_client_that_does_not_read() throws Exception {
        try (Socket socket = new Socket()) {
            socket.setReceiveBufferSize(4096);
            socket.connect(new java.net.InetSocketAddress("127.0.0.1", rig.plainPort()));
            String get = "GET /public/silly-test-image.jpg HTTP/1.1\r\nHost: a\r\n\r\n";
            socket.getOutputStream().write(get.repeat(200).getBytes(StandardCharsets.US_ASCII));
            assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> {
                        for (int i = 0; i < 3_000; i++) {
                            socket.getOutputStream().write('G');
                            pause(10_000);
                        }
                    }))
                    .isInstanceOf(SocketException.class);
        }
        rig.awaitAllFree();
    }

    // HTTP/2

    private static final class Http2 implements AutoCloseable {
        private final Socket socket;
        private final OutputStream out;

        Http2() throws IOException {
            this(new Socket("127.0.0.1", rig.plainPort()));
        }

        Http2(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(30_000);
            out = socket.getOutputStream();
            out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            frame(4, 0, 0);
        }

        void frame(int type, int flags, int stream, int... payload) throws IOException {
            byte[] bytes = new byte[payload.length];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) payload[i];
            }
            frame(type, flags, stream, bytes);
        }

        void frame(int type, int flags, int stream, byte[] payload) throws IOException {
            byte[] all = new byte[9 + payload.length];
            all[0] = (byte) (payload.length >> 16);
            all[1] = (byte) (payload.length >> 8);
            all[2] = (byte) payload.length;
            all[3] = (byte) type;
            all[4] = (byte) flags;
            all[5] = (byte) (stream >> 24);
            all[6] = (byte) (stream >> 16);
            all[7] = (byte) (stream >> 8);
            all[8] = (byte) stream;
            System.arraycopy(payload, 0, all, 9, payload.length);
            out.write(all);
        }

        /**
         * Sends GET {@code path}. GET and http are from the static table; the rest are literals.
         */
        void get(int stream, String path, int flags) throws IOException {
            ByteArrayOutputStream block = new ByteArrayOutputStream();
            block.write(0x82);
            block.write(0x86);
            block.write(0x04);
            block.write(path.length());
            block.write(path.getBytes(StandardCharsets.US_ASCII));
            block.write(0x01);
            block.write(1);
            block.write('a');
            frame(1, flags, stream, block.toByteArray());
        }

        /**
         * Reads until the dispatcher closes.
         *
         * @return the error code of its GOAWAY, -1 if there was none
         */
        int goAway() throws IOException {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            int code = -1;
            try {
                while (true) {
                    int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
                    int type = in.readUnsignedByte();
                    in.skipBytes(5);
                    byte[] payload = in.readNBytes(length);
                    if (type == 7) {
                        code = payload[7];
                    }
                }
            } catch (EOFException | SocketException e) {
                return code;
            }
        }

        /** Returns the streams of the next response headers. Returns fewer if a GOAWAY arrives. */
        List<Integer> heads(int count) throws IOException {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            List<Integer> streams = new ArrayList<>();
            int type = 0;
            while (streams.size() < count && type != 7) {
                int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
                type = in.readUnsignedByte();
                in.skipBytes(1);
                int stream = in.readInt();
                in.readNBytes(length);
                if (type == 1) {
                    streams.add(stream);
                }
            }
            return streams;
        }

        /** Returns the type of the next frame of {@code stream}. */
        int next(int stream) throws IOException {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
                int type = in.readUnsignedByte();
                in.skipBytes(1);
                int of = in.readInt();
                in.readNBytes(length);
                if (of == stream) {
                    return type;
                }
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static Socket tlsSocket() throws IOException {
        URI to = rig.https("/");
        SSLSocket socket = (SSLSocket) rig.client(HttpClient.Version.HTTP_2)
                .sslContext()
                .getSocketFactory()
                .createSocket(to.getHost(), to.getPort());
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {"h2"});
        socket.setSSLParameters(parameters);
        return socket;
    }

    private static final int PROTOCOL_ERROR = 0x1;
    private static final int ENHANCE_YOUR_CALM = 0xb;
    private static final int END_STREAM = 0x1;
    private static final int END_HEADERS = 0x4;

    /** Sends frames until the dispatcher closes the connection. Then sending fails. */
    private interface Flood {
        void run(Http2 client) throws IOException;
    }

    private static int flood(Flood flood) throws Exception {
        try (Http2 client = new Http2()) {
            AtomicInteger code = new AtomicInteger(Integer.MIN_VALUE);
            Thread reader = new Thread(() -> {
                try {
                    code.set(client.goAway());
                } catch (IOException e) {
                    code.set(-2);
                }
            });
            reader.start();
            try {
                flood.run(client);
            } catch (SocketException e) {
                // The connection is closed, as expected.
            }
            reader.join(60_000);
            return code.get();
        }
    }

    @Test
    void should_end_a_connection_of_rapid_resets() throws Exception {
        assertThat(flood(client -> {
                    for (int i = 0; i < 10_000; i++) {
                        client.get(1 + 2 * i, "/silent", END_HEADERS | END_STREAM);
                        client.frame(3, 0, 1 + 2 * i, 0, 0, 0, 8);
                    }
                }))
                .isEqualTo(ENHANCE_YOUR_CALM);
    }

    /** CVE-2025-55163: the client makes the server reset the client's streams. */
    @Test
    void should_end_a_connection_of_provoked_resets() throws Exception {
        assertThat(flood(client -> {
                    for (int i = 0; i < 10_000; i++) {
                        client.get(1 + 2 * i, "/silent", END_HEADERS | END_STREAM);
                        client.frame(8, 0, 1 + 2 * i, 0, 0, 0, 0);
                    }
                }))
                .isEqualTo(ENHANCE_YOUR_CALM);
    }

    @Test
    void should_end_a_connection_of_endless_continuations() throws Exception {
        assertThat(flood(client -> {
                    client.get(1, "/ping", END_STREAM);
                    for (int i = 0; i < 100_000; i++) {
                        client.frame(9, 0, 1, 0x40, 1, 'x', 1, 'y');
                    }
                }))
                .isIn(ENHANCE_YOUR_CALM, PROTOCOL_ERROR);
    }

    @Test
    void should_end_a_connection_whose_head_never_ends() throws Exception {
        assertThat(flood(client -> client.get(1, "/ping", END_STREAM))).isEqualTo(ENHANCE_YOUR_CALM);
    }

    @Test
    void should_end_a_connection_of_empty_data() throws Exception {
        assertThat(flood(client -> {
                    client.get(1, "/echo", END_HEADERS);
                    for (int i = 0; i < 100_000; i++) {
                        client.frame(0, 0, 1);
                    }
                }))
                .isEqualTo(ENHANCE_YOUR_CALM);
    }

    @Test
    void should_end_a_connection_of_answers_to_pings_that_nobody_sent() throws Exception {
        assertThat(flood(client -> {
                    for (int i = 0; i < 100_000; i++) {
                        client.frame(6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
                    }
                }))
                .isEqualTo(ENHANCE_YOUR_CALM);
    }

    @Test
    void should_end_a_connection_of_priorities() throws Exception {
        assertThat(flood(client -> {
                    for (int i = 0; i < 100_000; i++) {
                        client.frame(2, 0, 3, 0, 0, 0, 0, 16);
                    }
                }))
                .isEqualTo(ENHANCE_YOUR_CALM);
    }

    @Test
    void should_end_a_connection_that_pings_and_does_not_read() throws Exception {
        try (Http2 client = new Http2()) {
            // The dispatcher answers each burst before the next one, until the answers fill the
            // buffers of both sockets.
            byte[] pings = new byte[100 * 17];
            for (int i = 0; i < pings.length; i += 17) {
                pings[i + 2] = 8;
                pings[i + 3] = 6;
            }
            assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> {
                        for (int i = 0; i < 30_000; i++) {
                            client.socket.getOutputStream().write(pings);
                            pause(300);
                        }
                    }))
                    .isInstanceOf(SocketException.class);
        }
    }

    /**
     * Headers need no window. Only the limit of open streams bounds the queued response headers.
     */
    @Test
    void should_end_a_connection_that_asks_for_heads_and_does_not_read() throws Exception {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new java.net.InetSocketAddress("127.0.0.1", rig.plainPort()));
        try (Http2 client = new Http2(socket)) {
            // First HEAD as a literal that is added to the table, then by reference. No authority.
            client.frame(1, END_HEADERS | END_STREAM, 1, 0x42, 4, 'H', 'E', 'A', 'D', 0x86, 0x84);
            assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> {
                        for (int i = 0; i < 30_000; i++) {
                            ByteArrayOutputStream burst = new ByteArrayOutputStream();
                            for (int j = 0; j < 50; j++) {
                                int stream = 3 + 2 * (50 * i + j);
                                burst.writeBytes(new byte[] {0, 0, 3, 1, END_HEADERS | END_STREAM, 0});
                                burst.writeBytes(
                                        new byte[] {(byte) (stream >> 16), (byte) (stream >> 8), (byte) stream});
                                burst.writeBytes(new byte[] {(byte) 0xbe, (byte) 0x86, (byte) 0x84});
                            }
                            client.out.write(burst.toByteArray());
                            pause(1_000);
                        }
                    }))
                    .isInstanceOf(SocketException.class);
        }
    }

    /** The windows are open, but the socket is full. Nothing can be sent, not even a RST_STREAM. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_cut_an_http2_client_that_does_not_read(boolean tls) throws Exception {
        try (Http2 client = tls ? new Http2(tlsSocket()) : new Http2()) {
            client.frame(4, 0, 0, 0, 4, 0x40, 0, 0, 0); // SETTINGS_INITIAL_WINDOW_SIZE
            client.frame(8, 0, 0, 0x40, 0, 0, 0);
            for (int i = 0; i < 200; i++) {
                client.get(1 + 2 * i, "/public/silly-test-image.jpg", END_HEADERS | END_STREAM);
            }
            assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> {
                        for (int i = 0; i < 3_000; i++) {
                            client.frame(2, 0, 1, 0, 0, 0, 0, 0); // PRIORITY, which has no answer
                            pause(10_000);
                        }
                    }))
                    .isInstanceOf(IOException.class);
        }
    }

    /** The duration of the wait for a window counts, not whether a response waits at the check. */
    @Test
    void should_leave_a_client_its_time_to_open_a_window() throws Exception {
        try (Http2 client = new Http2()) {
            client.frame(4, 0, 0, 0, 4, 0, 0, 0, 0); // SETTINGS_INITIAL_WINDOW_SIZE 0
            client.get(1, "/ping", END_HEADERS | END_STREAM);
            assertThat(client.next(1)).as("HEADERS").isEqualTo(1);
            client.socket.setSoTimeout(2_500); // the dispatcher checks once a second
            assertThatThrownBy(() -> client.next(1)).isInstanceOf(SocketTimeoutException.class);
            client.frame(8, 0, 1, 0, 0, 0, 100);
            assertThat(client.next(1)).as("DATA").isZero();
        }
    }

    @Test
    void should_refuse_an_empty_host_and_serve_the_next_request_of_the_connection() throws Exception {
        try (Http2 client = new Http2()) {
            client.frame(1, END_HEADERS | END_STREAM, 1, 0x82, 0x86, 0x84, 0x0f, 0x17, 0);
            client.get(3, "/ping", END_HEADERS | END_STREAM);
            assertThat(client.heads(2)).containsExactlyInAnyOrder(1, 3);
        }
    }
}
