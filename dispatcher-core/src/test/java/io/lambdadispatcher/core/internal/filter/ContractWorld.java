package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Clients and functions that call what is between them at random, as {@link RequestSink} and {@link
 * ResponseSink} allow, also from within calls that they receive. They check all calls that they
 * receive against the same contract. Each fault is an {@link AssertionError}.
 */
final class ContractWorld {
    static final String ID = "x-id";

    private static final Failure.Kind[] FAILURES = Failure.Kind.values();
    private static final int[] STATUSES = {200, 200, 200, 204, 404, 500, 503};
    private static final String[] METHODS = {"GET", "GET", "HEAD", "POST", "PUT", "DELETE"};

    final Random random;
    final List<Client> clients = new ArrayList<>();
    final List<Call> calls = new ArrayList<>();
    final List<ByteBuf> buffers = new ArrayList<>();
    final StringBuilder log = new StringBuilder();

    ContractWorld(Random random) {
        this.random = random;
    }

    boolean oneIn(int count) {
        return random.nextInt(count) == 0;
    }

    private void check(boolean right, String wrong) {
        if (!right) {
            throw new AssertionError(wrong + ", after:" + log);
        }
    }

    private void note(String who, Object what) {
        log.append(' ').append(who).append(':').append(what);
    }

    /** Returns a buffer whose release the world verifies at its end. */
    private ByteBuf bytes(byte value, int count) {
        ByteBuf buffer = Unpooled.buffer(count);
        for (int i = 0; i < count; i++) {
            buffer.writeByte(value);
        }
        buffers.add(buffer);
        return buffer;
    }

    private static byte only(ByteBuf data, byte otherwise) {
        byte first = data.isReadable() ? data.getByte(data.readerIndex()) : otherwise;
        for (int i = data.readerIndex(); i < data.writerIndex(); i++) {
            if (data.getByte(i) != first) {
                throw new AssertionError("bytes of two bodies in one");
            }
        }
        return first;
    }

    void open(FunctionOpener function, TrafficPolicy policy) {
        Client client = new Client(clients.size());
        clients.add(client);
        client.open(function, policy);
    }

    /** Sends one request, and accepts its response. */
    final class Client implements ResponseSink {
        final int id;
        final String method = METHODS[random.nextInt(METHODS.length)];
        private final boolean hasty = oneIn(4);
        private final byte value;
        private @Nullable RequestSink sink;
        private boolean ended;
        private boolean over;
        private boolean cancelled;
        private boolean begun;
        private boolean hasBody;
        private boolean gzip;
        private int sent;
        private int returned;
        private int received;
        private int taken;
        private final ByteArrayOutputStream body = new ByteArrayOutputStream();

        private Client(int id) {
            this.id = id;
            this.value = (byte) (1 + id % 100);
        }

        private void open(FunctionOpener function, TrafficPolicy policy) {
            Http2Headers head = new DefaultHttp2Headers()
                    .method(method)
                    .scheme("http")
                    .authority("a")
                    .path(oneIn(2) ? "/" : "/" + random.nextInt(3))
                    .add(ID, Integer.toString(id));
            if (oneIn(2)) {
                head.add("accept-encoding", "gzip");
            }
            if (oneIn(8)) {
                head.add("cache-control", oneIn(2) ? "no-store" : "only-if-cached");
            }
            ended = !method.startsWith("P") || oneIn(4);
            note("client" + id, method + (ended ? "$" : ""));
            sink = function.open(head, ended, this, policy);
        }

        /** Returns whether the request was left by its client, or has its whole response. */
        boolean isOver() {
            return over || cancelled;
        }

        void act() {
            RequestSink to = sink;
            if (to == null) {
                return; // called while the request is opened
            }
            switch (random.nextInt(12)) {
                case 0, 1, 2, 3 -> send(to);
                case 4 -> {
                    if (!isOver() && (hasty || oneIn(4))) {
                        cancel(to);
                    }
                }
                default -> take(to);
            }
        }

        private void send(RequestSink to) {
            if (ended || isOver()) {
                return;
            }
            if (oneIn(6)) {
                ended = true;
                note("client" + id, "trailers$");
                to.trailers(new DefaultHttp2Headers().add("x-end", "1"));
                return;
            }
            int count = oneIn(8) ? 0 : 1 + random.nextInt(5000);
            ended = oneIn(3);
            sent += count;
            note("client" + id, count + (ended ? "$" : ""));
            to.data(bytes(value, count), ended);
        }

        void finish() {
            RequestSink to = sink;
            while (to != null && !ended && !isOver()) {
                send(to);
            }
        }

        private void cancel(RequestSink to) {
            cancelled = true;
            note("client" + id, "cancel");
            to.cancel(ErrorCode.CANCELLED);
        }

        void leave() {
            if (sink != null && !isOver()) {
                cancel(sink);
            }
        }

        private void take(RequestSink to) {
            if (taken < received) {
                int count = oneIn(2) ? received - taken : 1 + random.nextInt(received - taken);
                taken += count;
                to.responseTaken(count);
            }
        }

        void takeAll() {
            RequestSink to = sink;
            while (to != null && taken < received) {
                take(to);
            }
        }

        private void receive(Object what, boolean last) {
            note("client" + id, "got " + what + (last ? "$" : ""));
            check(!over, "client" + id + " got " + what + " after the end");
            check(!cancelled, "client" + id + " got " + what + " after it had cancelled");
            over = last;
        }

        private void perhapsAct() {
            if (oneIn(4)) {
                act();
            }
        }

        @Override
        public void onInterim(Http2Headers head) {
            receive(head.status(), false);
            check(!begun, "interim response after the head");
            perhapsAct();
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            receive(head.status(), end);
            check(!begun, "second head");
            begun = true;
            hasBody = !end;
            gzip = head.contains("content-encoding", "gzip");
            perhapsAct();
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            receive(data.readableBytes() + " bytes", end);
            check(begun, "body without a head");
            received += data.readableBytes();
            byte[] part = new byte[data.readableBytes()];
            data.readBytes(part);
            data.release();
            body.writeBytes(part);
            if (end) {
                checkBody();
            }
            perhapsAct();
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            receive("trailers", true);
            check(begun, "trailers without a head");
            checkBody();
            perhapsAct();
        }

        @Override
        public void onFailure(Failure failure) {
            receive(failure.kind(), true);
            perhapsAct();
        }

        @Override
        public void onRequestTaken(int bytes) {
            receive("", false);
            returned += bytes;
            check(returned <= sent, "more bytes of the request returned than sent");
            perhapsAct();
        }

        /** A complete body is that of one call. */
        private void checkBody() {
            byte[] plain = body.toByteArray();
            if (gzip && hasBody) {
                try {
                    plain = new GZIPInputStream(new ByteArrayInputStream(plain)).readAllBytes();
                } catch (IOException e) {
                    throw new AssertionError("not decompressed: " + e + log, e);
                }
            }
            int length = plain.length;
            if (length > 0) {
                byte first = only(Unpooled.wrappedBuffer(plain), (byte) 0);
                check(
                        calls.stream().anyMatch(call -> call.value == first && call.sent == length),
                        "a complete body that no call has sent: " + length + " of " + first);
            }
        }
    }

    /** Opens calls. */
    final class Service implements FunctionOpener {
        final String name;
        TrafficPolicy policy = TrafficPolicy.NEUTRAL;

        Service(String name) {
            this.name = name;
        }

        @Override
        public TrafficPolicy policy() {
            return policy;
        }

        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy applied) {
            Call call = new Call(name + calls.size(), head, end, response);
            calls.add(call);
            note(call.name, "open" + (end ? "$" : ""));
            if (oneIn(10)) {
                call.fail();
            } else if (oneIn(6)) {
                call.act();
            }
            return call;
        }
    }

    /** Takes one request, and responds to it. */
    final class Call implements RequestSink {
        final String name;
        final int client;
        private final boolean headRequest;
        private final ResponseSink response;
        private final byte value = (byte) (-1 - calls.size() % 100);
        private final Queue<ByteBuf> untaken = new ArrayDeque<>();
        private boolean ended;
        private boolean cancelled;
        private boolean over;
        private boolean failed;
        private boolean begun;
        private boolean onItsWay;
        private int received;
        private int sent;
        private int taken;

        private Call(String name, Http2Headers head, boolean end, ResponseSink response) {
            this.name = name;
            this.client = Integer.parseInt(head.get(ID).toString());
            this.headRequest = "HEAD".contentEquals(head.method());
            this.response = response;
            this.ended = end;
        }

        boolean isOver() {
            return over || cancelled;
        }

        void act() {
            if (isOver()) {
                return;
            }
            if (!onItsWay) {
                onItsWay = true;
                note(name, "sent");
                response.onSent();
            } else if (oneIn(12)) {
                fail();
            } else if (!untaken.isEmpty() && oneIn(2)) {
                takeOldest();
            } else if (!begun) {
                begin();
            } else {
                respond();
            }
        }

        /** Responds to the end. */
        void finish() {
            while (!isOver()) {
                act();
            }
        }

        private void begin() {
            if (oneIn(5)) {
                note(name, "103");
                response.onInterim(new DefaultHttp2Headers().status("103"));
                return;
            }
            int status = STATUSES[random.nextInt(STATUSES.length)];
            Http2Headers head = new DefaultHttp2Headers().status(Integer.toString(status));
            head.add("content-type", oneIn(4) ? "image/png" : "text/plain");
            if (oneIn(2)) {
                head.add("cache-control", oneIn(2) ? "max-age=60" : "no-store");
            }
            if (oneIn(3)) {
                head.add("etag", "\"" + random.nextInt(2) + "\"");
            }
            begun = true;
            boolean last = headRequest || status == 204 || oneIn(5);
            note(name, status + (last ? "$" : ""));
            if (last) {
                end();
            }
            response.onHead(head, last);
        }

        private void respond() {
            if (oneIn(8)) {
                note(name, "trailers$");
                end();
                response.onTrailers(new DefaultHttp2Headers().add("x-end", "1"));
                return;
            }
            // Some are so large that they are compressed in several turns.
            int count = oneIn(8) ? 0 : 1 + random.nextInt(oneIn(4) ? 120_000 : 8_000);
            boolean last = oneIn(3);
            note(name, count + (last ? "$" : ""));
            sent += count;
            if (last) {
                end();
            }
            response.onData(bytes(value, count), last);
        }

        void fail() {
            Failure.Kind kind = FAILURES[random.nextInt(FAILURES.length)];
            note(name, kind);
            end();
            failed = true;
            response.onFailure(new Failure(kind, "for the test"));
        }

        private void end() {
            over = true;
            drop();
        }

        private void drop() {
            untaken.forEach(ByteBuf::release);
            untaken.clear();
        }

        private void takeOldest() {
            ByteBuf data = untaken.remove();
            int count = data.readableBytes();
            data.release();
            response.onRequestTaken(count);
        }

        private void request(ByteBuf data) {
            check(!ended, name + " got more after the end of its request");
            check(only(data, clients.get(client).value) == clients.get(client).value, name + " got another body");
            received += data.readableBytes();
            check(received <= clients.get(client).sent, name + " got more than its client sent");
        }

        private void endRequest() {
            ended = true;
            int all = clients.get(client).sent;
            check(received == all, name + " got " + received + " of " + all + " bytes of its request");
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            if (isOver()) {
                data.release();
                return;
            }
            note(name, "got " + data.readableBytes() + (end ? "$" : ""));
            request(data);
            untaken.add(data);
            if (end) {
                endRequest();
            }
            if (oneIn(5)) {
                act();
            }
        }

        @Override
        public void trailers(Http2Headers trailers) {
            if (!isOver()) {
                note(name, "got trailers$");
                check(!ended, name + " got trailers after the end of its request");
                endRequest();
                if (oneIn(5)) {
                    act();
                }
            }
        }

        @Override
        public void cancel(ErrorCode code) {
            note(name, "cancelled");
            if (!isOver()) {
                cancelled = true;
                drop();
            }
        }

        @Override
        public void responseTaken(int bytes) {
            taken += bytes;
            check(taken <= sent, name + ": more of the response taken than sent: " + taken);
        }

        @Override
        public void endedResponseTaken(int bytes) {
            responseTaken(bytes);
        }

        /** A call that would wait for the rest of its request must know that there is none. */
        void checkWaits() {
            check(ended || isOver() || !clients.get(client).isOver(), name + " waits for the rest of its request");
        }

        /** A call whose response has reached its end gets all bytes back, as direct calls need. */
        void checkEnd() {
            check(isOver(), name + " is left over");
            if (over && !failed && !cancelled) {
                check(taken == sent, name + ": " + taken + " of " + sent + " bytes returned");
            }
        }
    }
}
