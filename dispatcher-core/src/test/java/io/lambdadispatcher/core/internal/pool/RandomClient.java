package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends one request at random, and checks its response and what is reported about it. */
final class RandomClient implements ResponseSink, Requester {
    /** More than the queue timeout of any function. */
    private static final long MAX_QUEUE_NANOS = TimeUnit.SECONDS.toNanos(4);

    private static final int CANCEL = 3;

    final int id;
    final int loop;
    final List<RandomCall> calls = new ArrayList<>();
    int sent;
    boolean ended;

    /** When its last attempt has ended. */
    long waitingSinceNanos;

    /** Since when it is queued, as deadlines count it. */
    long queuedSinceNanos;

    private final PoolWorld world;
    private final Object key;
    private final TrafficPolicy policy;
    private final Http2Headers head = new DefaultHttp2Headers();
    private final boolean hasty;
    private final boolean idempotent;
    private final boolean tunnel;
    private final long deadlineNanos;
    private @Nullable RequestSink sink;
    private boolean trailersSent;
    private long endedNanos;
    private boolean responded;
    private @Nullable ErrorCode cancelled;
    private @Nullable Failure failure;
    private @Nullable RandomCall answering;
    private int status;
    private int returned;
    private int received;
    private int taken;

    RandomClient(PoolWorld world, int loop, TrafficPolicy policy) {
        this.world = world;
        this.loop = loop;
        this.policy = policy;
        id = world.clients.size();
        hasty = world.oneIn(4);
        key = world.one(EMBEDDER, "client0", "client1");
        String method = world.calm ? "GET" : world.one("GET", "PUT", "PUT", "POST", "CONNECT");
        tunnel = method.equals("CONNECT");
        boolean keyed = !world.calm && world.oneIn(4);
        idempotent = keyed || method.equals("GET") || method.equals("PUT");
        endedNanos = world.nowNanos();
        ended = method.equals("GET") || !tunnel && world.oneIn(4);
        head.method(method).scheme("http").authority("a").path("/");
        head.add(PoolWorld.ID, Integer.toString(id));
        head.add("x-tenant", "tenant" + world.random.nextInt(2)).add("x-session", world.session);
        if (keyed) {
            head.add("idempotency-key", "k");
        }
        if (!world.calm) {
            addFields();
        }
        waitingSinceNanos = world.nowNanos();
        queuedSinceNanos = waitingSinceNanos;
        long budget = DeadlineHeaders.budgetNanos(policy.deadline(), head);
        deadlineNanos = budget == DeadlineHeaders.NONE ? Long.MAX_VALUE : waitingSinceNanos + budget;
    }

    private void addFields() {
        head.add("x-priority", world.one("critical", "normal", "sheddable"));
        if (world.oneIn(8)) {
            head.add("x-deadline", Integer.toString(world.random.nextInt(400)));
        }
        if (world.oneIn(6)) {
            head.add("content-type", "application/grpc");
        }
    }

    void open(FunctionOpener function) {
        world.note(this, head.method() + " on loop " + loop + (ended ? "$" : ""));
        sink = function.open(head, ended, this, policy);
    }

    // What it does.

    /** Returns whether neither it nor the dispatcher has anything to do for the request. */
    boolean isOver() {
        return hasFailed() || cancelled != null || responded && (ended || !isTunnel());
    }

    /** Returns whether another attempt is in flight beside this one, and none has answered. */
    boolean hasOverlapping(RandomCall one) {
        return policy.attempts().overlaps()
                && status == 0
                && calls.stream().anyMatch(call -> call != one && call.open)
                && calls.stream().noneMatch(call -> call.responding);
    }

    /** Returns whether it waits, and could have been sent directly, since this time. */
    boolean mustOverflow(long sinceNanos) {
        return idempotent
                && ended
                && sent <= Overflow.MAX_BODY_BYTES
                && endedNanos < sinceNanos
                && waitingSinceNanos < sinceNanos
                && calls.stream().noneMatch(call -> call.direct);
    }

    boolean hasFailedBy(Failure.Kind kind) {
        return failure != null && failure.kind() == kind;
    }

    boolean hasFailed() {
        return failure != null;
    }

    private boolean isTunnel() {
        return tunnel && status / 100 == 2;
    }

    /** Returns whether this is the complete request. */
    boolean isComplete(int bytes, boolean trailers) {
        return ended && bytes == sent && trailers == trailersSent;
    }

    void act() {
        act(world.random.nextInt(10));
    }

    private void act(int what) {
        RequestSink to = sink;
        if (to == null) {
            return; // It is being opened, or its exchange serves another request.
        }
        switch (what) {
            case 0, 1, 2 -> send(to);
            case CANCEL -> {
                if (!world.calm && !isOver()) {
                    cancel(to);
                }
            }
            default -> take(to);
        }
    }

    private void send(RequestSink to) {
        if (ended || cancelled != null || isOver() && !world.oneIn(4)) {
            return;
        }
        endedNanos = world.nowNanos();
        if (world.oneIn(8)) {
            ended = true;
            trailersSent = true;
            world.note(this, "trailers$");
            to.trailers(new DefaultHttp2Headers().add("x-end", "1"));
            return;
        }
        int count = world.oneIn(6) ? 0 : 1 + world.random.nextInt(world.oneIn(8) ? 300_000 : 3_000);
        ended = world.oneIn(3);
        ByteBuf data = world.bytes(id, sent, count);
        sent += count;
        world.note(this, count + (ended ? "$" : ""));
        to.data(data, ended);
    }

    private void cancel(RequestSink to) {
        ErrorCode code = world.oneIn(8) ? ErrorCode.INTERNAL : ErrorCode.CANCELLED;
        cancelled = code;
        world.note(this, "cancel " + code);
        to.cancel(code);
    }

    private void take(RequestSink to) {
        if (taken < received) {
            int count = world.oneIn(2) ? received - taken : 1 + world.random.nextInt(received - taken);
            taken += count;
            to.responseTaken(count);
        }
    }

    /** Sends and takes all that there is. */
    void finish() {
        RequestSink to = sink;
        while (to != null && !ended && !isOver()) {
            send(to);
        }
        while (to != null && taken < received) {
            take(to);
        }
    }

    // What it gets.

    @Override
    public Requester requester() {
        return this;
    }

    @Override
    public Object key(Http2Headers requestHead) {
        return key;
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return null;
    }

    @Override
    public ClientProtocol protocol() {
        return ClientProtocol.EMBEDDED;
    }

    @Override
    public @Nullable Exchange takeEndedExchange() {
        for (RandomClient other : world.oneIn(2) ? world.clients : List.<RandomClient>of()) {
            boolean closed = other.loop == loop && other.isOver() && other.taken == other.received;
            if (closed && other.sink instanceof Exchange exchange) {
                exchange.detach();
                other.sink = null;
                return exchange;
            }
        }
        return null;
    }

    private void receive(Object what, boolean last) {
        world.note(this, "got " + what + (last ? "$" : ""));
        world.check(!isOver() && !responded, this + " got " + what + " after the end");
        responded = last;
    }

    private void perhapsAct() {
        if (world.oneIn(4)) {
            act(hasty ? CANCEL : world.random.nextInt(10));
        } else if (world.oneIn(12)) {
            world.perhapsOpen(loop);
        }
    }

    @Override
    public void onInterim(Http2Headers interim) {
        receive(interim.status(), false);
        world.check(status == 0, this + " got an interim response after the head");
        perhapsAct();
    }

    @Override
    public void onHead(Http2Headers response, boolean end) {
        receive(response.status(), end);
        world.check(status == 0, this + " got a second head");
        status = Integer.parseInt(response.status().toString());
        RandomCall call =
                world.calls.get(Integer.parseInt(response.get(PoolWorld.ID).toString()));
        answering = call;
        world.check(call.client == this, this + " got the response of " + call.client);
        world.check(returned >= call.takenAtHead, this + " misses bytes that " + call + " has taken");
        world.session = response.get("x-session", world.session);
        onPart(end, false);
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        receive(data.readableBytes() + " bytes", end);
        RandomCall call = answering;
        world.check(call != null, this + " got a body without a head");
        world.verify(data, call == null ? 0 : ~call.number, received);
        received += data.readableBytes();
        data.release();
        onPart(end, false);
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        receive("trailers", true);
        onPart(true, true);
    }

    private void onPart(boolean end, boolean trailers) {
        RandomCall call = answering;
        boolean whole = call != null && call.responseEnded && received == call.sent && trailers == call.trailersSent;
        world.check(!end || whole, this + " got an end that is none");
        perhapsAct();
    }

    @Override
    public void onFailure(Failure why) {
        world.note(this, "got " + why.kind());
        // A tunnel can be cut off after the worker has ended its direction.
        world.check(!isOver(), this + " got " + why.kind() + " after the end");
        failure = why;
        if (why.kind() == Failure.Kind.DEADLINE_EXCEEDED && why.detail().startsWith("no worker free")) {
            long now = world.nowNanos();
            world.check(
                    now >= deadlineNanos || now - queuedSinceNanos > deadlineNanos - now,
                    this + " is given up, although it was queued for a moment");
        }
        world.check(
                why.kind() != Failure.Kind.THROTTLED || !world.isOverflow(),
                this + " is throttled, although workers can serve it");
        boolean tried = calls.stream().anyMatch(call -> call.begun);
        world.check(!tried || !why.wasNotTried(), this + " is told that its request was not tried");
        perhapsAct();
    }

    @Override
    public void onRequestTaken(int bytes) {
        world.note(this, "returned " + bytes);
        world.check(!isOver(), this + " got bytes back after the end");
        returned += bytes;
        world.check(returned <= sent, this + " got back more bytes than it has sent");
        perhapsAct();
    }

    // What must hold.

    /** Called when all that follows from earlier calls has happened. */
    void verify() {
        long now = world.nowNanos();
        world.check(isTunnel() || now < deadlineNanos, this + " waits behind its deadline");
        world.check(
                world.isCarried(this) || now - waitingSinceNanos <= MAX_QUEUE_NANOS, this + " is queued for too long");
        RandomCall call = answering;
        world.check(
                call == null || taken < received || call.givenBack == received || !call.open,
                call + " did not get its bytes back");
    }

    void verifyReport(ExchangeEnd end) {
        String what = this + " is reported as " + end.outcome() + " " + end.failure() + " " + end.status() + " with "
                + end.requestBytes() + " and " + end.responseBytes();
        world.check(isOutcome(end.outcome()), what);
        world.check(end.requestBytes() <= sent && end.responseBytes() == received, what);
        if (failure != null) {
            world.check(failure.kind().token().equals(end.failure()), what);
        }
        int expected = failure != null && status == 0 ? failure.kind().status().code() : status;
        world.check(cancelled != null || end.status() == expected, what);
        long begun = calls.stream().filter(call -> call.begun).count();
        world.check(!world.isDirect() || calls.isEmpty() || end.attempts() == 1, what + " and " + end.attempts());
        int most = idempotent ? policy.attempts().maxAttempts() : 1;
        world.check(
                begun <= most && begun <= end.attempts(),
                this + " was tried " + begun + " times, reported " + end.attempts());
    }

    private boolean isOutcome(Outcome outcome) {
        return switch (outcome) {
            case FAILED -> hasFailed() || cancelled == ErrorCode.INTERNAL;
            case CANCELLED -> cancelled != null;
            // A tunnel is complete if its client leaves after the worker.
            case COMPLETED -> !hasFailed() && (cancelled == null || responded && isTunnel());
        };
    }

    @Override
    public String toString() {
        return "client" + id;
    }
}
