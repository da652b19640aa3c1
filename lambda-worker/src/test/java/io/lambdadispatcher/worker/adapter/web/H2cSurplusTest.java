package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Data;
import io.lambdadispatcher.worker.ScriptedStream.Event;
import io.lambdadispatcher.worker.ScriptedStream.Head;
import io.lambdadispatcher.worker.ScriptedStream.Interim;
import io.lambdadispatcher.worker.ScriptedStream.Reset;
import io.lambdadispatcher.worker.ScriptedStream.Trailers;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Flags;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersEncoder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An application sends frames that belong to no response: on streams that have ended, that were
 * never opened, or that are not yet opened, and behind or within a response. The frames of several
 * streams are interleaved and cut at random. Each client must get exactly its own response or a
 * failure (RFC 9113 sections 5.1 and 8.1).
 */
@Timeout(180)
class H2cSurplusTest {
    private static final int STREAMS = 4;
    private static final int STEPS = 100;
    private static final String STOLEN = "attacker";
    private static final int END_STREAM = Http2Flags.END_STREAM;
    private static final int END_HEADERS = Http2Flags.END_HEADERS;

    /** The complete body for each token; {@link #BROKEN} if its response is malformed. */
    private final Map<String, String> expected = new ConcurrentHashMap<>();

    private static final String BROKEN = "broken";

    private final AtomicInteger surplus = new AtomicInteger();

    /** Whether the application sends no more surplus, so that the worker has read all of it. */
    private volatile boolean honest;

    /** The connections whose application is sending. */
    private final AtomicInteger sending = new AtomicInteger();

    /** The application's end of one connection. */
    private final class App {
        final RawApp.Connection connection;
        final Random random;
        final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();
        // Without a table, so that frames can be sent in any order.
        final DefaultHttp2HeadersEncoder encoder = new DefaultHttp2HeadersEncoder(Http2HeadersEncoder.ALWAYS_SENSITIVE);
        final List<Deque<ByteBuf>> answers = new ArrayList<>();
        int newestId;

        /** Whether the rest of a frame may be missing, so that nothing else can be sent. */
        boolean garbled;

        App(RawApp.Connection connection, long seed) {
            this.connection = connection;
            this.random = new Random(seed);
        }

        void serve() throws Exception {
            begin();
            while (!garbled && readFrame()) {
                if (connection.in.available() == 0) {
                    answer();
                }
            }
        }

        void begin() throws IOException {
            connection.in.readNBytes(Http2CodecUtil.connectionPrefaceBuf().readableBytes());
            write(frame(Http2FrameTypes.SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER));
        }

        /** @return false at the end of the connection */
        boolean readFrame() throws Exception {
            byte[] header = connection.in.readNBytes(9);
            if (header.length < 9) {
                return false;
            }
            ByteBuf head = Unpooled.wrappedBuffer(header);
            ByteBuf payload = Unpooled.wrappedBuffer(connection.in.readNBytes(head.readUnsignedMedium()));
            onFrame(head.readByte(), head.readUnsignedByte(), head.readInt(), payload);
            return true;
        }

        private void onFrame(byte type, int flags, int stream, ByteBuf payload) throws Exception {
            if (type == Http2FrameTypes.SETTINGS && (flags & Http2Flags.ACK) == 0) {
                write(frame(Http2FrameTypes.SETTINGS, Http2Flags.ACK, 0, Unpooled.EMPTY_BUFFER));
            } else if (type == Http2FrameTypes.PING && (flags & Http2Flags.ACK) == 0) {
                write(frame(Http2FrameTypes.PING, Http2Flags.ACK, 0, payload));
            } else if (type == Http2FrameTypes.HEADERS) {
                Http2Headers request = decoder.decodeHeaders(stream, payload);
                newestId = stream;
                String token = request.path().toString().substring(1);
                answers.add(answer(stream, token, request.method().toString()));
            }
        }

        private Deque<ByteBuf> answer(int stream, String token, String method) throws Exception {
            Deque<ByteBuf> frames = new ArrayDeque<>();
            if (random.nextInt(5) == 0) {
                frames.add(head(stream, 0, own("103", token)));
            }
            boolean toHead = method.equals("HEAD");
            boolean bodyless = toHead || random.nextInt(6) == 0;
            String body = bodyless ? "" : token;
            expected.put(token, body);
            Http2Headers head = own(bodyless ? "204" : "200", token);
            if (toHead) {
                head.status("200").add("content-length", "7");
            } else if (!bodyless && random.nextBoolean()) {
                head.add("content-length", String.valueOf(body.length()));
            }
            if (random.nextInt(5) == 0) {
                addBroken(frames, stream, head, token, bodyless, toHead);
            } else if (bodyless && random.nextBoolean()) {
                frames.add(head(stream, END_STREAM, head));
            } else {
                frames.add(head(stream, 0, head));
                int cut = random.nextInt(body.length() + 1);
                frames.add(data(stream, 0, body.substring(0, cut)));
                if (random.nextBoolean()) {
                    frames.add(data(stream, END_STREAM, body.substring(cut)));
                } else {
                    frames.add(data(stream, 0, body.substring(cut)));
                    frames.add(head(stream, END_STREAM, new DefaultHttp2Headers().add("token", token)));
                }
            }
            if (!honest && random.nextInt(4) == 0) {
                surplus.incrementAndGet();
                addSurplus(frames, stream);
            }
            return frames;
        }

        private void addBroken(
                Deque<ByteBuf> frames, int stream, Http2Headers head, String token, boolean bodyless, boolean toHead)
                throws Exception {
            int kind = random.nextInt(8);
            // The body of a response to HEAD is dropped. If there is none, its length may be any.
            if (!(kind == 4 && toHead) && !(kind == 5 && bodyless)) {
                expected.put(token, BROKEN);
            }
            switch (kind) {
                case 0 -> frames.add(data(stream, 0, STOLEN));
                case 1 -> {
                    frames.add(head(stream, 0, head));
                    frames.add(data(stream, 0, bodyless ? "" : token));
                    frames.add(head(stream, random.nextBoolean() ? END_STREAM : 0, stolen("200")));
                }
                case 2 -> {
                    frames.add(head(stream, 0, head));
                    frames.add(head(stream, random.nextBoolean() ? END_STREAM : 0, stolen("103")));
                }
                case 3 -> {
                    frames.add(head(stream, 0, head));
                    frames.add(head(stream, 0, new DefaultHttp2Headers().add("set-cookie", STOLEN)));
                    frames.add(data(stream, END_STREAM, STOLEN));
                }
                case 4 -> {
                    // Longer than it may be, or DATA where there is none.
                    if (!bodyless) {
                        head.set("content-length", String.valueOf(token.length()));
                    }
                    frames.add(head(stream, 0, head));
                    frames.add(data(stream, 0, bodyless ? "" : token));
                    frames.add(data(stream, END_STREAM, STOLEN));
                }
                case 5 -> {
                    head.set("content-length", "1000");
                    frames.add(head(stream, 0, head));
                    frames.add(data(stream, END_STREAM, bodyless ? "" : token));
                }
                case 6 -> {
                    frames.add(head(stream, 0, head));
                    frames.add(data(stream, 0, bodyless ? "" : token));
                    frames.add(reset(stream));
                }
                default -> frames.add(head(stream, END_STREAM, random.nextBoolean() ? stolen("103") : stolen("101")));
            }
        }

        private void addSurplus(Deque<ByteBuf> frames, int stream) throws Exception {
            int ended = newestId - 2 * STREAMS * (1 + random.nextInt(4));
            int other = switch (random.nextInt(8)) {
                case 0 -> 2 + 2 * random.nextInt(4); // was not promised
                case 1 -> 0;
                case 2 -> Math.max(1, ended);
                // The next ones, unless their requests may be on their way.
                case 3, 4 -> answers.size() == STREAMS - 1 ? newestId + 2 + 2 * random.nextInt(4) : stream;
                default -> stream;
            };
            switch (random.nextInt(12)) {
                case 0, 1, 2 -> {
                    frames.add(head(other, 0, stolen("200")));
                    frames.add(data(other, END_STREAM, STOLEN));
                }
                case 3 -> frames.add(head(other, END_STREAM, stolen("200")));
                case 4 -> frames.add(data(other, END_STREAM, STOLEN));
                case 5 -> frames.add(reset(other));
                case 6 -> {
                    ByteBuf promise = Unpooled.buffer().writeInt(newestId + (random.nextBoolean() ? 1 : 2));
                    encoder.encodeHeaders(stream, get("/promised"), promise);
                    frames.add(frame(Http2FrameTypes.PUSH_PROMISE, END_HEADERS, other, promise));
                }
                case 7 -> {
                    // A header block that does not end, or that was not begun.
                    ByteBuf block = Unpooled.buffer();
                    encoder.encodeHeaders(stream, stolen("200"), block);
                    byte type = random.nextBoolean() ? Http2FrameTypes.HEADERS : Http2FrameTypes.CONTINUATION;
                    frames.add(frame(type, type == Http2FrameTypes.HEADERS ? 0 : END_HEADERS, other, block));
                    garbled = true;
                }
                case 8 -> {
                    byte[] any = new byte[1 + random.nextInt(30)];
                    random.nextBytes(any);
                    frames.add(Unpooled.wrappedBuffer(any));
                    garbled = true;
                }
                case 9 -> frames.add(data(other, 0, STOLEN));
                case 10 ->
                    frames.add(frame(
                            Http2FrameTypes.WINDOW_UPDATE,
                            0,
                            other,
                            Unpooled.buffer().writeInt(random.nextInt(2))));
                default ->
                    frames.add(frame(
                            Http2FrameTypes.GO_AWAY,
                            0,
                            0,
                            Unpooled.buffer()
                                    .writeInt(newestId - random.nextInt(2) * 2)
                                    .writeInt(0)));
            }
        }

        private Http2Headers status(String status) {
            return new DefaultHttp2Headers().status(status);
        }

        private Http2Headers own(String status, String token) {
            return status(status).add("token", token);
        }

        private Http2Headers stolen(String status) {
            return status(status).add("token", STOLEN).add("set-cookie", "sid=attacker");
        }

        private ByteBuf head(int stream, int flags, Http2Headers head) throws Exception {
            ByteBuf block = Unpooled.buffer();
            encoder.encodeHeaders(stream, head, block);
            return frame(Http2FrameTypes.HEADERS, flags | END_HEADERS, stream, block);
        }

        private ByteBuf data(int stream, int flags, String text) {
            ByteBuf payload = Unpooled.buffer();
            int padding = random.nextInt(4) == 0 ? 1 + random.nextInt(5) : 0;
            if (padding > 0) {
                payload.writeByte(padding);
            }
            payload.writeCharSequence(text, StandardCharsets.US_ASCII);
            payload.writeZero(padding);
            return frame(Http2FrameTypes.DATA, flags | (padding > 0 ? Http2Flags.PADDED : 0), stream, payload);
        }

        private ByteBuf reset(int stream) {
            return frame(
                    Http2FrameTypes.RST_STREAM, 0, stream, Unpooled.buffer().writeInt(random.nextInt(14)));
        }

        private ByteBuf frame(byte type, int flags, int stream, ByteBuf payload) {
            ByteBuf out = Unpooled.buffer();
            out.writeMedium(payload.readableBytes())
                    .writeByte(type)
                    .writeByte(flags)
                    .writeInt(stream);
            return out.writeBytes(payload);
        }

        /** Sends the frames of all streams in a random order, which is that of each stream. */
        private void answer() throws IOException {
            ByteBuf out = Unpooled.buffer();
            while (!answers.isEmpty()) {
                Deque<ByteBuf> next = answers.get(random.nextInt(answers.size()));
                out.writeBytes(next.remove());
                if (next.isEmpty()) {
                    answers.remove(next);
                }
            }
            sending.incrementAndGet();
            try {
                write(out);
            } finally {
                // The worker may have closed the connection before the last part.
                sending.decrementAndGet();
            }
        }

        /** Sends the bytes in up to five parts. */
        private void write(ByteBuf out) throws IOException {
            for (int cuts = random.nextInt(5); cuts > 0 && out.isReadable(); cuts--) {
                connection.out.write(ByteBufUtil.getBytes(out.readSlice(random.nextInt(out.readableBytes() + 1))));
                connection.out.flush();
            }
            connection.out.write(ByteBufUtil.getBytes(out));
            connection.out.flush();
        }
    }

    /** @return whether the response is complete */
    private boolean verify(ScriptedStream stream, String token, String what) throws Exception {
        StringBuilder body = new StringBuilder();
        boolean headSeen = false;
        for (boolean end = false; !end; ) {
            Event event = stream.events.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            if (event instanceof Reset) {
                return false;
            }
            assertThat(event).as(what).isNotNull();
            if (event instanceof Interim interim) {
                verify(interim.headers(), token, what);
            } else if (event instanceof Head head) {
                assertThat(headSeen).as(what).isFalse();
                headSeen = true;
                if (head.headers().status().toString().equals("502")) {
                    if (!head.end()) {
                        assertThat(stream.take(Data.class).end()).as(what).isTrue();
                    }
                    return false;
                }
                verify(head.headers(), token, what);
                end = head.end();
            } else if (event instanceof Data data) {
                assertThat(headSeen).as(what).isTrue();
                body.append(new String(data.content(), StandardCharsets.US_ASCII));
                assertThat(token).as(what).startsWith(body);
                end = data.end();
            } else {
                assertThat(event).as(what).isInstanceOf(Trailers.class);
                verify(((Trailers) event).headers(), token, what);
                end = true;
            }
        }
        assertThat(body).as(what).hasToString(expected.get(token));
        return true;
    }

    private static void verify(Http2Headers head, String token, String what) {
        assertThat(head.get("token")).as(what).hasToString(token);
        assertThat(head.contains("set-cookie")).as(what).isFalse();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void should_give_each_client_exactly_its_own_response(long seed) throws Exception {
        Random random = new Random(seed);
        int complete = 0;
        try (RawApp app = new RawApp(connection -> new App(connection, seed * 1000 + connection.index).serve());
                Harness harness = new Harness(
                        new WebHandler(app.builder()
                                .protocol(WebConfig.AppProtocol.H2C)
                                .build())::handle,
                        config -> config.streams(STREAMS))) {
            var link = harness.dispatcher.takeReady();
            List<ScriptedStream> streams = new ArrayList<>();
            for (int i = 0; i < STREAMS; i++) {
                streams.add(link.takeStream());
            }
            for (int step = 0; step < STEPS; step++) {
                honest = step == STEPS - 1;
                for (int i = 0; i < STREAMS; i++) {
                    request(streams.get(i), random.nextInt(3), "token" + (step * STREAMS + i));
                }
                for (int i = 0; i < STREAMS; i++) {
                    String token = "token" + (step * STREAMS + i);
                    complete += verify(streams.get(i), token, "seed " + seed + ", " + token) ? 1 : 0;
                }
                // All bytes have arrived in the kernel, so they are older than the next requests.
                Await.until("the application has sent everything", () -> sending.get() == 0);
            }
            assertThat(complete).isGreaterThan(STEPS * STREAMS / 4);
            assertThat(app.connections()).as("connections are used again").isLessThan(STEPS);
            assertThat(surplus).hasValueGreaterThan(STEPS / 2);
        }
    }

    private static void request(ScriptedStream stream, int kind, String token) {
        switch (kind) {
            case 0 -> stream.request(get("/" + token), 0, true);
            case 1 -> stream.request(get("/" + token).method("HEAD"), 0, true);
            default -> stream.request(post("/" + token), "abc".getBytes(StandardCharsets.US_ASCII), true);
        }
    }

    /**
     * The worker reads both in one turn of its event loop: first the request, for which it opens a
     * stream, and then the frames of this stream, which the application had sent before.
     */
    @Test
    void should_reject_a_response_that_is_older_than_its_request() throws Exception {
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch requested = new CountDownLatch(1);
        CountDownLatch answered = new CountDownLatch(1);
        try (RawApp app = new RawApp(connection -> {
                    App served = new App(connection, 1);
                    served.begin();
                    while (served.answers.isEmpty()) {
                        served.readFrame();
                    }
                    served.write(served.head(served.newestId, END_STREAM, served.own("200", "first")));
                    requested.await();
                    served.write(served.head(served.newestId + 2, END_STREAM, served.stolen("200")));
                    answered.countDown();
                    connection.awaitEnd();
                });
                Harness harness = new Harness(
                        relayExcept("/block", app, () -> {
                            blocked.countDown();
                            answered.await();
                            return null;
                        }),
                        config -> config.streams(2))) {
            var link = harness.dispatcher.takeReady();
            ScriptedStream stream = link.takeStream();
            ScriptedStream other = link.takeStream();
            assertThat(stream.exchange(get("/first")).status()).isEqualTo("200");
            stream.request(get("/block"), 0, true);
            blocked.await();
            other.request(post("/second"), 0, false);
            other.dataWhenTaken(new byte[1], true).sync();
            requested.countDown();
            Head head = other.take(Head.class);
            assertThat(head.headers().contains("set-cookie")).isFalse();
            // If the selector returns the application's socket first, the frames are for no stream,
            // and the request is served by another connection.
            assertThat(head.headers().status().toString()).isIn("502", "200");
        }
    }

    /** Relays requests, except those for the path, which run an action on the event loop. */
    private static Handler relayExcept(String path, RawApp app, Callable<?> action) {
        WebHandler relay =
                new WebHandler(app.builder().protocol(WebConfig.AppProtocol.H2C).build());
        return (request, response) -> {
            if (path.contentEquals(request.headers().path())) {
                action.call();
                response.respond(new DefaultHttp2Headers().status("204"));
            } else {
                relay.handle(request, response);
            }
        };
    }
}
