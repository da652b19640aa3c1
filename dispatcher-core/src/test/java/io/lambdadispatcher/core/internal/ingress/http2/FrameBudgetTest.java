package io.lambdadispatcher.core.internal.ingress.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Sends random mixes of frames. Those that have no effect end the connection after a bounded amount
 * of work. Clients that send many frames for a reason are never ended.
 */
class FrameBudgetTest {
    private static final int MAX_FRAMES = 10_000;
    private static final int PRIORITY_UPDATE = 0x10;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Queue<ResponseSink> responses = new ArrayDeque<>();
    private int lastStream = -1;
    private int goAwayError = -1;
    private int dataFrames;
    private int frames;
    private long bytes;

    private void connect() {
        channel.freezeTime();
        Http2ClientConnection.install(
                channel.pipeline(),
                new IngressContext(
                        HttpLimits.defaults(),
                        new TrustedHeaders(ForwardingPolicy.defaults(), Set.of()),
                        new ClientGuard(HttpLimits.defaults(), 1, List.of(channel.eventLoop()), DispatcherObserver.NONE)
                                .admit(channel, false, this::open),
                        new IngressDrain(),
                        new ErrorAnswers(
                                null, ForwardingPolicy.defaults(), null, new CorsMemory(), Incidents.unobserved()),
                        "http",
                        channel.remoteAddress(),
                        DispatcherObserver.NONE,
                        null));
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf());
        send(Http2FrameTypes.SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER);
        flush();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        responses.add(response);
        return new DiscardingSink() {
            @Override
            public void data(ByteBuf data, boolean last) {
                int taken = data.readableBytes();
                data.release();
                response.onRequestTaken(taken);
            }
        };
    }

    private void send(int type, int flags, int stream, ByteBuf payload) {
        if (!channel.isOpen()) {
            return;
        }
        frames++;
        bytes += 9 + payload.readableBytes();
        channel.writeInbound(Unpooled.buffer()
                .writeMedium(payload.readableBytes())
                .writeByte(type)
                .writeByte(flags)
                .writeInt(stream)
                .writeBytes(payload));
    }

    private void send(int type, int stream, int payload) {
        send(type, 0, stream, Unpooled.buffer().writeInt(payload));
    }

    private static ByteBuf zeros(int count) {
        return Unpooled.buffer().writeZero(count);
    }

    /** Sends the headers of a GET or POST without an authority but with a host. */
    private int request(boolean end) {
        lastStream += 2;
        byte[] block = {(byte) (end ? 0x82 : 0x83), (byte) 0x86, (byte) 0x84, 0x01, 0x01, 'a'};
        send(Http2FrameTypes.HEADERS, end ? 5 : 4, lastStream, Unpooled.wrappedBuffer(block));
        return lastStream;
    }

    /** Reads what the connection has sent. */
    private void flush() {
        channel.runPendingTasks();
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.writeBytes(some);
            some.release();
        }
        while (all.isReadable()) {
            int length = all.readUnsignedMedium();
            byte type = all.readByte();
            all.skipBytes(5);
            dataFrames += type == Http2FrameTypes.DATA ? 1 : 0;
            if (type == Http2FrameTypes.GO_AWAY) {
                goAwayError = all.getInt(all.readerIndex() + 4);
            }
            all.skipBytes(length);
        }
    }

    private boolean isEnded() {
        flush();
        return goAwayError >= 0 || !channel.isOpen();
    }

    /** Frames that change nothing. */
    enum Idle {
        UNKNOWN,
        LARGE_UNKNOWN,
        UNKNOWN_OF_A_STREAM,
        PRIORITY_UPDATE,
        PRIORITY,
        SAME_SETTINGS,
        UNKNOWN_SETTINGS,
        EMPTY_SETTINGS,
        WINDOW_UPDATE,
        WINDOW_UPDATE_OF_A_STREAM,
        WINDOW_UPDATE_OF_A_STREAM_THAT_ENDED,
        EMPTY_DATA,
        PADDING,
        DATA_AFTER_RESET,
        PING,
        PING_ACK
    }

    private void send(Idle idle, Random random) {
        switch (idle) {
            case UNKNOWN -> send(0x20 + random.nextInt(200), random.nextInt(256), 0, zeros(random.nextInt(64)));
            case LARGE_UNKNOWN -> send(0x20, 0, 0, zeros(16_384));
            case UNKNOWN_OF_A_STREAM -> send(0xfe, 0, 1 + random.nextInt(1000), zeros(random.nextInt(8)));
            case PRIORITY_UPDATE ->
                send(PRIORITY_UPDATE, 0, 0, Unpooled.buffer().writeInt(1).writeZero(random.nextInt(8)));
            case PRIORITY ->
                send(
                        Http2FrameTypes.PRIORITY,
                        0,
                        5,
                        Unpooled.buffer().writeInt(7).writeByte(9));
            case SAME_SETTINGS ->
                send(
                        Http2FrameTypes.SETTINGS,
                        0,
                        0,
                        Unpooled.buffer().writeShort(4).writeInt(65_535));
            case UNKNOWN_SETTINGS ->
                send(
                        Http2FrameTypes.SETTINGS,
                        0,
                        0,
                        Unpooled.buffer().writeShort(0x99).writeInt(random.nextInt()));
            case EMPTY_SETTINGS -> send(Http2FrameTypes.SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER);
            case WINDOW_UPDATE -> send(Http2FrameTypes.WINDOW_UPDATE, 0, 1);
            case WINDOW_UPDATE_OF_A_STREAM -> send(Http2FrameTypes.WINDOW_UPDATE, 1, 1);
            case WINDOW_UPDATE_OF_A_STREAM_THAT_ENDED -> send(Http2FrameTypes.WINDOW_UPDATE, 3, 1);
            case EMPTY_DATA -> {
                send(Http2FrameTypes.DATA, 0, 1, Unpooled.EMPTY_BUFFER);
                send(Http2FrameTypes.WINDOW_UPDATE, 1, 1);
            }
            case PADDING ->
                send(Http2FrameTypes.DATA, 8, 1, Unpooled.buffer().writeByte(20).writeZero(20));
            case DATA_AFTER_RESET -> send(Http2FrameTypes.DATA, 0, 5, zeros(random.nextInt(3)));
            case PING -> send(Http2FrameTypes.PING, 0, 0, zeros(8));
            case PING_ACK -> send(Http2FrameTypes.PING, 1, 0, zeros(8));
        }
    }

    /** Opens stream 1, which stays open, stream 3, which ends, and stream 5, which is reset. */
    private void openStreams() {
        request(false);
        request(true);
        responses.remove();
        responses.remove().onHead(new DefaultHttp2Headers().status("204"), true);
        request(false);
        send(Http2FrameTypes.WINDOW_UPDATE, 5, 0);
    }

    /** @return number of requests that were sent besides */
    private int sendUntilTheEnd(Random random, Idle... types) {
        int requests = 0;
        for (int i = 0; i < 4 * MAX_FRAMES && (i % 50 != 0 || !isEnded()); i++) {
            send(types[random.nextInt(types.length)], random);
            if (types.length > 1 && random.nextInt(100) == 0) {
                request(true);
                responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("204"), true));
                responses.clear();
                requests++;
            }
        }
        return requests;
    }

    private void assertBounded(int requests) {
        assertThat(goAwayError).isEqualTo((int) Http2Error.ENHANCE_YOUR_CALM.code());
        assertThat(frames).isLessThan(MAX_FRAMES + 5 * requests + 150);
        assertThat(bytes).isLessThan(MAX_FRAMES * 1100L);
    }

    @ParameterizedTest
    @EnumSource
    void should_end_a_connection_with_frames_of_one_type_that_have_no_effect(Idle type) {
        connect();
        openStreams();
        assertBounded(sendUntilTheEnd(new Random(1), type));
        channel.advanceTimeBy(2, TimeUnit.SECONDS);
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void should_end_a_connection_with_any_mix_of_frames_that_have_no_effect(long seed) {
        Random random = new Random(seed);
        Idle[] all = Idle.values();
        Idle[] types = new Idle[2 + random.nextInt(6)];
        for (int i = 0; i < types.length; i++) {
            types[i] = all[random.nextInt(all.length)];
        }
        connect();
        openStreams();
        assertBounded(sendUntilTheEnd(random, types));
    }

    /** Each opens the window of the stream by one byte, which is then sent alone. */
    @Test
    void should_end_a_connection_that_reads_byte_by_byte() {
        connect();
        send(Http2FrameTypes.SETTINGS, 0, 0, Unpooled.buffer().writeShort(4).writeInt(0));
        int stream = request(true);
        ResponseSink response = responses.remove();
        response.onHead(new DefaultHttp2Headers().status("200"), false);
        response.onData(zeros(100_000), true);
        while (frames < 4 * MAX_FRAMES && !isEnded()) {
            send(Http2FrameTypes.WINDOW_UPDATE, stream, 1);
        }
        assertBounded(1);
        assertThat(dataFrames).isPositive();
    }

    @Test
    void should_allow_a_few_frames_without_effect_at_any_time() {
        connect();
        openStreams();
        Random random = new Random(1);
        for (int second = 0; second < 120; second++) {
            for (int i = 0; i < 200; i++) {
                send(random.nextBoolean() ? Idle.PING : Idle.PRIORITY, random);
            }
            channel.advanceTimeBy(1, TimeUnit.SECONDS);
            channel.runPendingTasks();
        }
        assertThat(isEnded()).isFalse();
    }

    /**
     * Many more frames than a connection may send without effect, within no time: PRIORITY_UPDATE
     * twice for each request, as Chromium does; WINDOW_UPDATE of the stream and the connection and
     * a PING for each DATA frame, however small; bodies of one byte in each frame, and empty DATA
     * at their end.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void should_never_end_a_client_whose_frames_go_with_requests_and_responses(long seed) {
        Random random = new Random(seed);
        connect();
        int maxBytes = 1 << random.nextInt(15);
        while (frames < 6 * MAX_FRAMES) {
            boolean upload = random.nextInt(4) == 0;
            send(
                    PRIORITY_UPDATE,
                    0,
                    0,
                    Unpooled.buffer().writeInt(lastStream + 2).writeByte('u'));
            int stream = request(!upload);
            send(PRIORITY_UPDATE, 0, 0, Unpooled.buffer().writeInt(stream).writeByte('i'));
            send(Http2FrameTypes.WINDOW_UPDATE, stream, 1_000_000);
            if (upload) {
                for (int i = random.nextInt(300); i > 0; i--) {
                    send(Http2FrameTypes.DATA, 0, stream, zeros(1 + random.nextInt(2)));
                }
                send(Http2FrameTypes.DATA, 1, stream, Unpooled.EMPTY_BUFFER);
            }
            ResponseSink response = responses.remove();
            response.onHead(new DefaultHttp2Headers().status("200"), false);
            for (int i = random.nextInt(50); i >= 0; i--) {
                int size = 1 + random.nextInt(maxBytes);
                dataFrames = 0;
                response.onData(zeros(size), i == 0);
                flush();
                for (int frame = 0; frame < dataFrames; frame++) {
                    int part = size / dataFrames;
                    int read = frame == 0 ? size - part * (dataFrames - 1) : part;
                    send(Http2FrameTypes.WINDOW_UPDATE, 0, read);
                    send(Http2FrameTypes.WINDOW_UPDATE, stream, read);
                    send(Http2FrameTypes.PING, 0, 0, zeros(8));
                }
                assertThat(dataFrames).as("no window is used up").isPositive();
            }
            assertThat(isEnded()).as("after %d frames", frames).isFalse();
        }
    }
}
