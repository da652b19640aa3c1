package io.lambdadispatcher.worker.internal.relay;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which responses a worker ends in place of their handlers, when, and where. */
class CleanEndTest {
    private final Random random = new Random(42);

    private static Http2Headers connect(String protocol) {
        return new DefaultHttp2Headers().method("CONNECT").set(":protocol", protocol);
    }

    private static Http2Headers typed(String type) {
        return new DefaultHttp2Headers().status("200").set("content-type", type);
    }

    private static boolean ends(String type) {
        return CleanEnd.of(new DefaultHttp2Headers().method("GET"), typed(type), false) != null;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "text/event-stream",
                "Text/Event-Stream; charset=utf-8",
                "application/grpc",
                "application/grpc+proto"
            })
    void should_end_event_streams_and_grpc(String type) {
        assertThat(ends(type)).isTrue();
    }

    /** A client would take a part of it for the whole. */
    @ParameterizedTest
    @ValueSource(strings = {"text/html", "application/octet-stream", "application/grpc-web", "text/event-streams"})
    void should_not_end_what_only_its_handler_can_complete(String type) {
        assertThat(ends(type)).isFalse();
    }

    @Test
    void should_not_end_a_body_of_an_announced_length() {
        Http2Headers head = typed("text/event-stream").set("content-length", "10");
        assertThat(CleanEnd.of(new DefaultHttp2Headers().method("GET"), head, false))
                .isNull();
    }

    @Test
    void should_not_end_a_tunnel_of_a_protocol_that_it_does_not_know() {
        assertThat(CleanEnd.of(connect("connect-udp"), typed("text/event-stream"), true))
                .isNull();
        assertThat(CleanEnd.of(connect("WebSocket"), new DefaultHttp2Headers(), true))
                .isNotNull();
    }

    @ParameterizedTest
    @CsvSource({"900000, 60000", "61000, 60000", "60500, 59500", "10000, 9000", "2000, 1500", "0, 0"})
    void should_leave_the_handler_a_minute_and_the_client_a_second(long graceMillis, long expected) {
        assertThat(CleanEnd.after(Duration.ofMillis(graceMillis))).hasMillis(expected);
    }

    @ParameterizedTest
    @CsvSource({"GET, , true", "POST, , false", "GET, gzip, false"})
    void should_end_only_event_streams_whose_clients_connect_again(
            String method, @Nullable String encoding, boolean ends) {
        Http2Headers head = typed("text/event-stream");
        if (encoding != null) {
            head.set("content-encoding", encoding);
        }
        assertThat(CleanEnd.of(new DefaultHttp2Headers().method(method), head, false) != null)
                .isEqualTo(ends);
    }

    /** However the bytes are cut, the stream ends after the first event that ends later. */
    @ParameterizedTest
    @ValueSource(strings = {"\n", "\r", "\r\n"})
    void should_end_an_event_stream_after_an_event(String lineEnd) {
        for (int round = 0; round < 500; round++) {
            StringBuilder all = new StringBuilder();
            TreeSet<Integer> ends = new TreeSet<>();
            ends.add(0);
            for (int i = 0; i < 5; i++) {
                for (int line = random.nextInt(3); line >= 0; line--) {
                    all.append("data: ").append("x".repeat(random.nextInt(5))).append(lineEnd);
                }
                all.append(lineEnd);
                ends.add(all.length());
            }
            ByteBuf bytes = Unpooled.copiedBuffer(all, StandardCharsets.US_ASCII);
            CleanEnd end = CleanEnd.of(new DefaultHttp2Headers().method("GET"), typed("text/event-stream"), false);
            int dueAt = random.nextInt(all.length());
            int sent = 0;
            while (sent < dueAt) {
                int part = Math.min(dueAt - sent, 1 + random.nextInt(20));
                assertThat(end.pass(bytes.slice(sent, part))).isEqualTo(part);
                sent += part;
            }
            end.setDue(false);
            while (!end.isNow()) {
                sent += end.pass(bytes.slice(sent, Math.min(all.length() - sent, 1 + random.nextInt(20))));
            }
            assertThat(sent).isEqualTo(ends.ceiling(dueAt));
        }
    }

    @Test
    void should_let_a_grpc_call_run_until_the_grace_period_ends() {
        CleanEnd end = CleanEnd.of(new DefaultHttp2Headers().method("POST"), typed("application/grpc"), false);
        end.setDue(false);
        assertThat(end.isNow()).isFalse();
        end.setDue(true);
        assertThat(end.isNow()).isTrue();
        assertThat(CleanEnd.latest(Duration.ofMinutes(15))).isEqualTo(Duration.ofSeconds(899));
    }

    private void frame(ByteArrayOutputStream out, boolean grpc, int bytes) {
        if (grpc) {
            out.writeBytes(new byte[] {0, 0, 0, (byte) (bytes >> 8), (byte) bytes});
        } else {
            out.write(0x82);
            if (bytes < 126) {
                out.write(bytes);
            } else {
                out.writeBytes(new byte[] {126, (byte) (bytes >> 8), (byte) bytes});
            }
        }
        byte[] payload = new byte[bytes];
        random.nextBytes(payload);
        out.writeBytes(payload);
    }

    /** However the bytes are cut, the first end of a frame after the time has come is found. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void should_end_between_two_frames(boolean grpc) {
        for (int round = 0; round < 500; round++) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            TreeSet<Integer> ends = new TreeSet<>();
            ends.add(0);
            for (int i = 0; i < 5; i++) {
                frame(all, grpc, random.nextInt(10) == 0 ? 126 + random.nextInt(500) : random.nextInt(126));
                ends.add(all.size());
            }
            ByteBuf bytes = Unpooled.wrappedBuffer(all.toByteArray());
            CleanEnd end = CleanEnd.of(
                    grpc ? new DefaultHttp2Headers().method("POST") : connect("websocket"),
                    typed("application/grpc"),
                    !grpc);
            int dueAt = random.nextInt(all.size());
            int sent = 0;
            while (sent < dueAt) {
                int part = Math.min(dueAt - sent, 1 + random.nextInt(50));
                assertThat(end.pass(bytes.slice(sent, part))).isEqualTo(part);
                sent += part;
            }
            end.setDue(true);
            while (!end.isNow()) {
                sent += end.pass(bytes.slice(sent, Math.min(all.size() - sent, 1 + random.nextInt(500))));
            }
            assertThat(sent).isEqualTo(ends.ceiling(dueAt));
        }
    }

    @Test
    void should_read_the_longest_headers() {
        CleanEnd end = CleanEnd.of(connect("websocket"), new DefaultHttp2Headers(), true);
        byte[] masked = {(byte) 0x82, (byte) (0x80 | 127), 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4};
        end.setDue(true);
        assertThat(end.pass(Unpooled.wrappedBuffer(masked))).isZero();

        CleanEnd later = CleanEnd.of(connect("websocket"), new DefaultHttp2Headers(), true);
        later.pass(Unpooled.wrappedBuffer(masked));
        later.setDue(true);
        assertThat(later.pass(Unpooled.wrappedBuffer(new byte[70_000]))).isEqualTo(65_536);
        assertThat(later.isNow()).isTrue();
    }

    /** Each message of a WebSocket or of a call is a write of its own. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void should_allocate_nothing_for_small_frames(boolean grpc) {
        ByteArrayOutputStream frames = new ByteArrayOutputStream();
        frame(frames, grpc, 20);
        ByteBuf message = Unpooled.wrappedBuffer(frames.toByteArray());
        CleanEnd end = grpc
                ? CleanEnd.of(new DefaultHttp2Headers().method("POST"), typed("application/grpc"), false)
                : CleanEnd.of(connect("websocket"), new DefaultHttp2Headers(), true);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        end.pass(message);
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 1000; i++) {
            end.pass(message);
        }
        assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
    }
}
