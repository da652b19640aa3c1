package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.Failure.Kind;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A worker connection whose streams behave as those of {@code WorkerConnection} and {@code
 * WorkerStream} do towards the pool. What the worker does is random.
 */
final class RandomWorker {
    final List<Stream> streams = new ArrayList<>();
    boolean gone;
    private final PoolWorld world;
    final PoolShard shard;
    final PooledConnection member;

    RandomWorker(PoolWorld world, PoolShard shard, String workerId, boolean base) {
        this.world = world;
        this.shard = shard;
        member = new PooledConnection(workerId);
        member.setKind(base ? WorkerKind.BASE : WorkerKind.LAUNCHED);
        world.note(this, base ? "connects, of the base" : "connects");
        shard.workers().onMember(member);
        for (int i = world.random.nextInt(3); i >= 0; i--) {
            openStream();
        }
        shard.workers().setOpen(member, true);
    }

    private void openStream() {
        Stream stream = new Stream();
        streams.add(stream);
        shard.workers().onStreamOpened(member, stream);
    }

    void act() {
        switch (world.random.nextInt(40)) {
            case 0, 4, 5 -> openStream();
            case 1 -> setReady(!world.oneIn(4));
            case 2 -> shard.workers().onRoom(member);
            case 3 -> lose();
            default -> world.any(streams, Stream::act);
        }
    }

    private void setReady(boolean ready) {
        world.note(this, ready ? "is ready" : "is not ready");
        shard.workers().setOpen(member, ready);
    }

    void lose() {
        world.note(this, "is lost");
        gone = true;
        shard.workers().onMemberGone(member);
        List.copyOf(streams).forEach(Stream::close);
    }

    /** Answers all that it has, and is ready for more. */
    void finish() {
        setReady(true);
        if (streams.isEmpty()) {
            openStream();
        }
        List.copyOf(streams).forEach(Stream::finish);
    }

    boolean isBusy() {
        return !streams.stream().allMatch(Stream::isIdle);
    }

    void verify() {
        for (Stream each : streams) {
            RandomCall call = each.call;
            world.check(call == null || !call.client.isOver(), call + " is left over, and nobody has cancelled it");
        }
        int idle = (int) streams.stream().filter(Stream::isIdle).count();
        world.check(
                member.free.size() == idle && member.busy == streams.size() - idle,
                this + " has " + idle + " of " + streams.size() + " streams idle, but " + member.free.size());
    }

    @Override
    public String toString() {
        return member.workerId();
    }

    /** A worker stream. */
    final class Stream extends ScriptedStream {
        private final Queue<ByteBuf> untaken = new ArrayDeque<>();
        private @Nullable RandomCall call;
        private boolean isTunnel;

        /** Whether it is not free yet, although it carries no request any more. */
        private boolean held;

        private long answerNanos;

        private Stream() {
            super(RandomWorker.this.shard, member, stream -> {});
        }

        private boolean isIdle() {
            return call == null && !held;
        }

        // From the pool.

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
            world.check(isIdle() && streams.contains(this), RandomWorker.this + " got a request for a busy stream");
            RandomCall its = new RandomCall(world, head, end);
            call = its;
            its.ofBase = member.isBase();
            if (!world.calm && world.oneIn(10)) {
                world.note(its, "is not sent, because there is no memory");
                its.begun = false;
                close();
                forAttempt.onFailure(new Failure(Kind.OVERLOADED, "for the test"));
                return this;
            }
            isTunnel = "CONNECT".contentEquals(head.method());
            answerNanos = PooledConnection.UNANSWERED;
            return super.carry(head, end, timeoutMillis, forAttempt);
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            RandomCall to = call;
            if (to == null || to.requestEnded || !data.isReadable() && !end) {
                data.release();
                return;
            }
            untaken.add(data.retainedDuplicate());
            onRequest(to, data, end, false);
        }

        @Override
        public void trailers(Http2Headers trailers) {
            RandomCall to = call;
            if (to != null && !to.requestEnded) {
                onRequest(to, Unpooled.EMPTY_BUFFER, true, true);
            }
        }

        private void onRequest(RandomCall to, ByteBuf data, boolean end, boolean trailers) {
            to.onRequest(data, end, trailers);
            if (to.requestEnded && to.responseEnded) {
                forget(false);
                held = true;
            } else if (!world.calm && world.oneIn(40)) {
                close(); // There is no memory for the frame.
            }
        }

        @Override
        public void cancel(ErrorCode code) {
            if (call != null) {
                world.note(call, "cancelled");
                forget(code == ErrorCode.TIMEOUT || code == ErrorCode.BAD_MESSAGE);
                held = true;
                if (world.oneIn(8)) {
                    close();
                }
            }
        }

        @Override
        public void responseTaken(int bytes) {
            if (call != null) {
                call.onGivenBack(bytes);
            }
        }

        // From the worker.

        private void act() {
            RandomCall its = call;
            if (its != null) {
                int what = world.calm ? world.random.nextInt(12) : world.random.nextInt(world.isGrim ? 11 : 0, 19);
                act(its, its.responseEnded ? 0 : what);
            } else if (held && world.oneIn(2)) {
                free();
            } else if (world.oneIn(40)) {
                close();
            }
        }

        private void act(RandomCall its, int what) {
            switch (what) {
                case 0, 1, 2, 3 -> takeOldest(its);
                case 12, 13, 18 -> reset(its);
                case 14, 15, 16 -> refuse(its);
                case 17 -> close();
                default -> answer(its);
            }
        }

        private void finish() {
            // A tunnel waits for its client.
            for (int i = 0; i < 100 && !isIdle() && (call == null || !call.responseEnded); i++) {
                act();
            }
        }

        private void takeOldest(RandomCall its) {
            ByteBuf data = untaken.poll();
            if (data != null) {
                int count = data.readableBytes();
                data.release();
                its.taken += count;
                attempt().onRequestTaken(count);
            }
        }

        private void answer(RandomCall its) {
            if (its.responding) {
                respond(its);
            } else if (world.oneIn(8)) {
                world.note(its, "103");
                attempt().onInterim(new DefaultHttp2Headers().status("103"));
            } else {
                begin(its);
            }
        }

        private void begin(RandomCall its) {
            int status = world.calm ? 200 : world.one(200, 200, 204, 404, 500, 503);
            Http2Headers response = new DefaultHttp2Headers()
                    .status(Integer.toString(status))
                    .add(PoolWorld.ID, Integer.toString(its.number))
                    .add("x-session", "session" + world.random.nextInt(3));
            boolean end = world.oneIn(3);
            isTunnel = isTunnel && status / 100 == 2;
            world.note(its, status + (end ? "$" : ""));
            its.responding = true;
            its.takenAtHead = its.taken;
            its.responseEnded = end;
            answerNanos = shard.nanoTime();
            worker.onAnswer(answerNanos);
            pass(its, status >= 500, to -> to.onHead(response, end));
        }

        private void respond(RandomCall its) {
            if (world.oneIn(8)) {
                world.note(its, "trailers$");
                its.responseEnded = true;
                its.trailersSent = true;
                pass(its, false, to -> to.onTrailers(new DefaultHttp2Headers().add("x-end", "1")));
                return;
            }
            boolean end = world.oneIn(3);
            int count = world.random.nextInt(world.one(1, 2_000));
            world.note(its, count + (end ? "$" : ""));
            ByteBuf data = its.response(count, end);
            pass(its, false, to -> to.onData(data, end));
        }

        private void pass(RandomCall its, boolean failed, Consumer<Attempt> part) {
            if (its.responseEnded && (!isTunnel || its.requestEnded)) {
                end(() -> forget(failed), part);
            } else {
                part.accept(attempt());
            }
        }

        /** Passes the last part on. Only then, the stream is free. */
        private void end(Runnable forgetting, Consumer<Attempt> last) {
            Attempt to = attempt();
            held = true;
            forgetting.run();
            last.accept(to);
            free();
        }

        private void reset(RandomCall its) {
            Kind kind = world.one(
                    Kind.WORKER_LOST, Kind.TIMEOUT, Kind.HANDLER_CANCELLED, Kind.BAD_RESPONSE, Kind.HANDLER_FAILED);
            world.note(its, kind);
            Failure failure = new Failure(kind, "for the test");
            RandomClient client = its.client;
            boolean other = !its.responding && !client.isOver() && client.hasOverlapping(its);
            end(() -> forget(true), kind == Kind.WORKER_LOST ? to -> to.onLost(failure) : to -> to.onFailure(failure));
            world.check(!other || !client.hasFailedBy(kind), client + " has failed by one of its attempts");
        }

        /** The worker has not begun with the request. */
        private void refuse(RandomCall its) {
            if (its.responding) {
                return;
            }
            its.begun = false;
            if (world.oneIn(2)) {
                world.note(its, "BUSY");
                its.noRoom = true;
                end(() -> forgetCall(() -> shard.workers().onBusy(worker)), to -> to.onBusy(GONE));
            } else {
                world.note(its, "REFUSED");
                end(() -> forgetCall(worker::onRefused), to -> to.onRefused(GONE));
            }
        }

        private Attempt attempt() {
            return Objects.requireNonNull(attempt, "no attempt");
        }

        private void forget(boolean failed) {
            RandomCall its = Objects.requireNonNull(call);
            forgetCall(() -> worker.onExchangeEnd(failed, its.beginNanos, answerNanos));
        }

        private void forgetCall(Runnable told) {
            Objects.requireNonNull(call).close();
            attempt = null;
            call = null;
            untaken.forEach(ByteBuf::release);
            untaken.clear();
            told.run();
        }

        private void free() {
            held = false;
            shard.workers().onStreamFree(worker, this);
        }

        void close() {
            boolean wasFree = isIdle();
            if (!streams.remove(this)) {
                return;
            }
            Attempt lost = attempt;
            if (call != null) {
                world.note(call, "stream closed");
                forgetCall(() -> {});
            }
            held = false;
            shard.workers().onStreamClosed(worker, this, wasFree);
            if (lost != null) {
                worker.onExchangeEnd(true);
                lost.onLost(GONE);
            }
        }
    }
}
