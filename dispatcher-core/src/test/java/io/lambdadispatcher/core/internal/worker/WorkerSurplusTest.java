package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.CharsetUtil;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A hostile worker sends bytes that belong to no request: behind a response, within one, and
 * between exchanges. Each client must get exactly its own response or a failure, whatever these
 * bytes are and however they are cut. A worker can respond as it likes to a request that it has
 * received. So these bytes are always older than the next request.
 */
class WorkerSurplusTest {
    private static final int STEPS = 1000;
    private static final int STREAMS = 2;
    private static final int WINDOW_BYTES = 65_535;
    private static final String STOLEN = "attacker";

    private final Random random = new Random();
    private final EmbeddedWorker worker = new EmbeddedWorker(UnpooledByteBufAllocator.DEFAULT, WINDOW_BYTES, STREAMS);
    private final Map<Integer, Stream> streams = new TreeMap<>();
    private final Map<String, Client> clients = new HashMap<>();
    private int nextStream = 3;
    private int opened;
    private int complete;
    private int failed;

    /** What was sent to the next read of the dispatcher. */
    private final List<ByteBuf> burst = new ArrayList<>();

    WorkerSurplusTest() throws Exception {}

    /** Knows what it may receive. */
    private final class Client implements ResponseSink {
        final String token;
        final String method;
        final StringBuilder body = new StringBuilder();

        /** The complete body. {@code null} if the response must not look complete. */
        @Nullable
        String expected;

        @Nullable
        Exchange request;

        boolean headSeen;
        boolean over;

        Client(String token, String method) {
            this.token = token;
            this.method = method;
        }

        private void verify(Http2Headers head) {
            assertThat(over).as("%s has ended", token).isFalse();
            assertThat(head.get("token")).as(token).hasToString(token);
        }

        @Override
        public void onInterim(Http2Headers head) {
            assertThat(headSeen).as("%s has headers", token).isFalse();
            verify(head);
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            assertThat(headSeen).as("%s has headers", token).isFalse();
            headSeen = true;
            verify(head);
            end(end);
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            assertThat(headSeen && !over).as("%s expects DATA", token).isTrue();
            body.append(data.toString(CharsetUtil.US_ASCII));
            int bytes = data.readableBytes();
            data.release();
            if (expected != null) {
                assertThat(expected).as(token).startsWith(body);
            }
            end(end);
            if (request != null && !over) {
                request.responseTaken(bytes);
            }
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            assertThat(headSeen).as(token).isTrue();
            verify(trailers);
            end(true);
        }

        private void end(boolean end) {
            if (end) {
                assertThat(body).as(token).hasToString(String.valueOf(expected));
                over = true;
                complete++;
            }
        }

        @Override
        public void onFailure(Failure failure) {
            assertThat(over).as("%s has ended", token).isFalse();
            over = true;
            failed++;
        }

        @Override
        public void onRequestTaken(int bytes) {}

        void leave() {
            if (!over && request != null) {
                over = true;
                request.cancel(ErrorCode.CANCELLED);
            }
        }
    }

    /** The worker's end of a worker stream. */
    private final class Stream implements FrameReader.Listener {
        final int id;
        final HeadEncoder encoder = new HeadEncoder();
        final HeadDecoder decoder = new HeadDecoder();
        final FrameReader reader = FrameReader.ofWorkerStream(UnpooledByteBufAllocator.DEFAULT, this);

        /** The request that has no response yet. */
        @Nullable
        Client asked;

        /** The rest of a response, of which a part was sent. */
        ByteBuf rest = Unpooled.EMPTY_BUFFER;

        Stream(int id) {
            this.id = id;
        }

        @Override
        public void onData(ByteBuf part, boolean end) {
            part.release();
        }

        @Override
        public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
            if (type == FrameType.REQUEST_HEAD) {
                payload.skipBytes(4);
                String path = String.valueOf(decoder.decode(payload, offset).path());
                assertThat(asked).as("one exchange at a time").isNull();
                assertThat(rest.isReadable()).as("one exchange at a time").isFalse();
                asked = clients.get(path.substring(1));
            }
        }

        /** Sends a response or its next part, and perhaps surplus behind it. */
        void respond() throws WireException {
            if (asked != null) {
                rest = Unpooled.buffer();
                writeResponse(rest, asked);
                asked = null;
                if (random.nextInt(3) == 0) {
                    send(rest.readSlice(random.nextInt(rest.readableBytes() + 1)));
                    if (rest.isReadable()) {
                        return;
                    }
                }
            }
            if (rest.isReadable()) {
                if (random.nextInt(5) < 2) {
                    writeSurplus(rest);
                }
                send(rest);
                rest = Unpooled.EMPTY_BUFFER;
            }
        }

        private void writeResponse(ByteBuf out, Client to) throws WireException {
            if (random.nextInt(6) == 0) {
                FrameWriter.writeInterim(out, encoder, head("103", to.token));
            }
            if (random.nextInt(6) == 0) {
                FrameWriter.writeTiming(out, 1, 2);
            }
            boolean bodyless = to.method.equals("HEAD");
            String text = bodyless ? "" : to.token.repeat(random.nextInt(3));
            to.expected = text;
            Http2Headers head = head(bodyless && random.nextBoolean() ? "304" : "200", to.token);
            if (random.nextBoolean()) {
                head.add("content-length", String.valueOf(bodyless ? 5 : text.length()));
                if (random.nextInt(6) == 0) {
                    text += "other"; // longer than the response may be
                    to.expected = null;
                }
            }
            boolean broken = random.nextInt(8) == 0;
            if (broken) {
                to.expected = null;
                writeViolation(out, head);
                return;
            }
            switch (random.nextInt(text.isEmpty() ? 3 : 2)) {
                case 0 -> {
                    FrameWriter.writeResponseHead(out, encoder, head, false);
                    writeData(out, text, true);
                }
                case 1 -> {
                    FrameWriter.writeResponseHead(out, encoder, head, false);
                    writeData(out, text, false);
                    FrameWriter.writeTrailers(out, encoder, new DefaultHttp2Headers(false).add("token", to.token));
                }
                default -> FrameWriter.writeResponseHead(out, encoder, head, true);
            }
        }

        /** A frame that is not allowed within a response, and what could be the rest of it. */
        private void writeViolation(ByteBuf out, Http2Headers head) throws WireException {
            switch (random.nextInt(6)) {
                case 0 -> writeData(out, STOLEN, true);
                case 1 -> FrameWriter.writeTrailers(out, encoder, head("200", STOLEN));
                case 2 -> FrameWriter.writeCancel(out, ErrorCode.CANCELLED);
                case 3 -> FrameWriter.writeReset(out, ErrorCode.HANDLER_FAILED, "");
                default -> {
                    FrameWriter.writeResponseHead(out, encoder, head, false);
                    if (random.nextBoolean()) {
                        FrameWriter.writeInterim(out, encoder, head("103", STOLEN));
                    } else {
                        FrameWriter.writeResponseHead(out, encoder, head("200", STOLEN), true);
                    }
                }
            }
        }

        /** A whole message, a part of one, or any bytes. */
        private void writeSurplus(ByteBuf out) throws WireException {
            ByteBuf surplus = Unpooled.buffer();
            switch (random.nextInt(8)) {
                case 0 -> FrameWriter.writeInterim(surplus, encoder, head("103", STOLEN));
                case 1 -> FrameWriter.writeTiming(surplus, 1, 2);
                case 2 -> FrameWriter.writeReset(surplus, ErrorCode.REFUSED, STOLEN);
                case 3 -> writeData(surplus, STOLEN, random.nextBoolean());
                case 4 -> {
                    FrameWriter.writeResponseHead(surplus, encoder, head("200", STOLEN), false);
                    writeData(surplus, STOLEN, true);
                }
                case 5 -> {
                    byte[] any = new byte[1 + random.nextInt(20)];
                    random.nextBytes(any);
                    surplus.writeBytes(any);
                }
                default -> FrameWriter.writeResponseHead(surplus, encoder, head("200", STOLEN), true);
            }
            int bytes = random.nextBoolean() ? surplus.readableBytes() : 1 + random.nextInt(surplus.readableBytes());
            out.writeBytes(surplus, bytes);
        }

        private void writeData(ByteBuf out, String text, boolean end) {
            FrameWriter.writeDataHeader(out, text.length(), end);
            out.writeCharSequence(text, CharsetUtil.US_ASCII);
        }

        /** Cuts the bytes into frames of HTTP/2. */
        void send(ByteBuf bytes) {
            while (bytes.isReadable()) {
                int part = random.nextBoolean() ? bytes.readableBytes() : 1 + random.nextInt(bytes.readableBytes());
                burst.add(EmbeddedWorker.frame(Http2FrameTypes.DATA, id, bytes.readSlice(part)));
            }
        }
    }

    private static Http2Headers head(String status, String token) {
        return new DefaultHttp2Headers(false).status(status).add("token", token);
    }

    /** Lets the dispatcher read the burst in one turn of its event loop, cut into any pieces. */
    private void deliver() {
        ByteBuf all = Unpooled.wrappedBuffer(burst.toArray(new ByteBuf[0]));
        burst.clear();
        List<ByteBuf> pieces = new ArrayList<>();
        while (all.isReadable()) {
            int bytes = random.nextInt(3) > 0 ? all.readableBytes() : 1 + random.nextInt(all.readableBytes());
            pieces.add(all.readRetainedSlice(bytes));
        }
        all.release();
        worker.channel.writeInbound(pieces.toArray());
    }

    /** Lets the worker read everything that the dispatcher can send. */
    private void pump() throws Exception {
        worker.channel.runPendingTasks();
        int[] frames = {1};
        while (frames[0] > 0) {
            frames[0] = 0;
            worker.takeSent((type, id, payload) -> {
                frames[0]++;
                if (type == Http2FrameTypes.RST_STREAM) {
                    streams.remove(id).reader.close();
                } else if (type == Http2FrameTypes.DATA && streams.containsKey(id)) {
                    worker.openWindow(0, payload.readableBytes());
                    worker.openWindow(id, payload.readableBytes());
                    streams.get(id).reader.read(payload);
                }
            });
            while (streams.size() < STREAMS) {
                streams.put(nextStream, new Stream(nextStream));
                worker.open(nextStream);
                nextStream += 2;
            }
        }
        assertThat(worker.partings).isEmpty();
    }

    /** A client sends a request. */
    private Client send() {
        String method = List.of("GET", "HEAD", "POST", "POST").get(random.nextInt(4));
        Client client = new Client("token" + opened++ + ";", method);
        clients.put(client.token, client);
        boolean upload = method.equals("POST");
        Exchange request = worker.request(method, "/" + client.token, !upload, client);
        client.request = request;
        if (upload) {
            // Sometimes more than the window, so that the next request waits behind the rest.
            int bytes = random.nextInt(8) == 0 ? 2 * WINDOW_BYTES : 10;
            request.data(Unpooled.buffer(bytes).writeZero(bytes), random.nextBoolean());
        }
        return client;
    }

    /** Surplus before a request, perhaps one that has arrived and is not yet written. */
    private void surplusBetweenExchanges() throws Exception {
        if (random.nextBoolean()) {
            send();
        }
        for (Stream stream : streams.values()) {
            if (stream.asked == null && !stream.rest.isReadable()) {
                ByteBuf surplus = Unpooled.buffer();
                stream.writeSurplus(surplus);
                stream.send(surplus);
            }
        }
        deliver();
        pump();
    }

    private void exchanges() throws Exception {
        List<Client> sent = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
            sent.add(send());
        }
        if (random.nextBoolean()) {
            pump();
        }
        for (Client client : sent) {
            if (random.nextInt(10) == 0) {
                client.leave();
            }
        }
        pump();
        for (Stream stream : streams.values()) {
            stream.respond();
        }
        deliver();
        pump();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void should_give_each_client_exactly_its_own_response(long seed) throws Exception {
        random.setSeed(seed);
        worker.channel.freezeTime();
        pump();
        for (int step = 0; step < STEPS; step++) {
            if (random.nextInt(20) == 0) {
                surplusBetweenExchanges();
            }
            exchanges();
            worker.channel.advanceTimeBy(1, TimeUnit.SECONDS);
        }
        clients.values().forEach(Client::leave);
        worker.close();
        streams.values().forEach(stream -> stream.reader.close());
        assertThat(complete)
                .as("complete, of %d with %d failed", opened, failed)
                .isGreaterThan(opened / 3);
        assertThat(nextStream / 2).as("streams are used again").isLessThan(opened / 2);
    }
}
