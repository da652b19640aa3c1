package io.lambdadispatcher.core.internal.worker;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.HostileText;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests peers without a valid token. The handshake timeout never expires here. */
class WorkerPortTest {
    private static final Duration NEVER = Duration.ofDays(1);
    private static final int END_STREAM_AND_HEADERS = 0x5;

    private final RecordingObserver observer = new RecordingObserver();

    private final EmbeddedChannel channel = dialled();

    private EmbeddedChannel dialled() {
        return new EmbeddedChannel(new WorkerPort(
                new WorkerPort.Access(
                        function -> List.of(new byte[32]), "", PortIdentities.NONE, NEVER, NEVER, NEVER, ""),
                Map.of(),
                Map.of(),
                new NoEvents(),
                observer,
                new Incidents(observer, Ticker.systemTicker())));
    }

    private static final class NoEvents implements WorkerEvents {
        @Override
        public Refusal admit(LaunchToken token, WorkerLink connection, boolean expired) {
            return new Refusal(HttpResponseStatus.FORBIDDEN, Rejection.ENDED, "nobody");
        }

        @Override
        public boolean isLaunched(String function, String workerId) {
            return true;
        }

        @Override
        public List<String> peers() {
            return List.of();
        }

        @Override
        public void onHello(WorkerLink connection, ControlMessage.Hello hello) {}

        @Override
        public void onReadiness(WorkerLink connection, boolean ready) {}

        @Override
        public void onLoad(WorkerLink connection, ControlMessage.Load load) {}

        @Override
        public void onDrain(WorkerLink connection, DrainCode reason) {}

        @Override
        public void onGone(WorkerLink connection, Departure departure, String reason) {}
    }

    @BeforeEach
    void connect() {
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), frame(Http2FrameTypes.SETTINGS, 0, 0));
        assertThat(channel.isOpen()).isTrue();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static ByteBuf frame(int type, int flags, int stream, int... payload) {
        ByteBuf frame = Unpooled.buffer();
        frame.writeMedium(payload.length).writeByte(type).writeByte(flags).writeInt(stream);
        for (int value : payload) {
            frame.writeByte(value);
        }
        return frame;
    }

    @Test
    void should_end_a_connection_that_pings_and_does_not_read() {
        channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
        for (int i = 0; i < 1000; i++) {
            channel.writeInbound(frame(Http2FrameTypes.PING, 0, 0, new int[8]));
        }
        assertThat(channel.isOpen()).isTrue();
        channel.writeInbound(frame(Http2FrameTypes.PING, 0, 0, new int[8]));
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_hear_only_the_first_request_that_it_rejects() {
        channel.writeInbound(Unpooled.wrappedBuffer(get(1), get(3)));
        assertThat(observer.rejections)
                .containsExactly("GET / is no request of a worker. Clients must use a public port");
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_make_the_request_that_it_rejects_printable_and_cut_it() {
        int[] path = new int[2000];
        Arrays.fill(path, 0x9b);
        path[0] = '/';
        // :method GET, :scheme http, :path with a length of 2,000 (RFC 7541 section 5.1).
        int[] head = IntStream.concat(
                        IntStream.of(0x82, 0x86, 0x04, 0x7f, 2000 - 127 & 0x7f | 0x80, 2000 - 127 >> 7),
                        Arrays.stream(path))
                .toArray();
        channel.writeInbound(frame(Http2FrameTypes.HEADERS, END_STREAM_AND_HEADERS, 1, head));
        assertThat(observer.rejections)
                .singleElement()
                .asString()
                .startsWith("GET /\\u009b\\u009b")
                .hasSizeLessThan(3_100)
                .matches(HostileText::isPrintable);
    }

    @Test
    void should_say_in_one_line_that_a_peer_speaks_another_protocol() {
        EmbeddedChannel http1 = dialled();
        http1.writeInbound(Unpooled.copiedBuffer("GET /health HTTP/1.1\r\nhost: a\r\n\r\n", US_ASCII));
        EmbeddedChannel tls = dialled();
        tls.writeInbound(Unpooled.wrappedBuffer(new byte[] {0x16, 3, 1, 2, 0, 1, 0, 1, (byte) 0xfc, 3, 3, 0, 0}));

        assertThat(observer.incidents)
                .extracting(Incident::toString)
                .containsExactly(
                        "incident begins: workers that dial in are rejected (stranger): a worker at embedded: it speaks"
                                + " HTTP/1.1. Clients must use a public port, and health checks the admin port",
                        "incident begins: workers that dial in are rejected (tls): a worker at embedded: it uses TLS, but"
                                + " this port does not. Set LAMBDA_DISPATCHER_TLS=false at the worker, or remove"
                                + " workers.tls.certificate: off here");
        assertThat(http1.isOpen() || tls.isOpen()).isFalse();
        http1.finishAndReleaseAll();
        tls.finishAndReleaseAll();
    }

    private static ByteBuf get(int stream) {
        return frame(Http2FrameTypes.HEADERS, END_STREAM_AND_HEADERS, stream, 0x82, 0x86, 0x84);
    }

    /** A timer would keep the connection in memory until the handshake timeout. */
    @Test
    void should_leave_no_timer_behind_when_the_connection_has_gone() {
        // close() of the test's channel would cancel all timers, so the dispatcher closes it.
        channel.writeInbound(get(1));
        assertThat(channel.isOpen()).isFalse();
        assertThat(channel.runScheduledPendingTasks()).isEqualTo(-1);
    }

    /** Each reset costs the dispatcher one or two frames, and the peer only one. */
    @Test
    void should_end_a_connection_that_makes_us_reset_streams() {
        // A header name in upper case, which is an error of the stream only.
        channel.writeInbound(frame(
                Http2FrameTypes.HEADERS, END_STREAM_AND_HEADERS, 1, 0x83, 0x86, 0x84, 0x00, 0x01, 'A', 0x01, 'b'));
        assertThat(channel.isOpen()).isFalse();
    }
}
