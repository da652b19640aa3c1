package io.lambdadispatcher.core.internal.pool;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * One attempt, as the worker or the invoked function sees it: it checks what it gets of the
 * request, and counts what it sends back.
 */
final class RandomCall {
    final int number;
    final RandomClient client;
    final long beginNanos;

    /** Whether a handler may have seen the request. */
    boolean begun = true;

    /** Whether a handler works for the request. */
    boolean open = true;

    /** Whether it is an invocation. */
    boolean direct;

    /** Whether a base worker has it. */
    boolean ofBase;

    /** Whether its worker had no room, so the request was in the queue all the time. */
    boolean noRoom;

    boolean requestEnded;
    boolean responding;
    boolean responseEnded;
    boolean trailersSent;
    int received;
    int taken;
    int takenAtHead;
    int sent;
    int givenBack;
    private final PoolWorld world;

    RandomCall(PoolWorld world, Http2Headers head, boolean end) {
        this.world = world;
        number = world.calls.size();
        client = world.client(head);
        world.check(
                client.calls.stream().noneMatch(each -> each.direct && each.begun),
                this + " begins, although " + client + " was invoked");
        beginNanos = world.nowNanos();
        requestEnded = end;
        world.calls.add(this);
        client.calls.add(this);
        world.note(this, "begins for " + client + (end ? "$" : ""));
        world.check(!end || client.isComplete(0, false), this + " begins with an end that is none");
    }

    /** Counts a part of the request, and releases it. */
    void onRequest(ByteBuf data, boolean end, boolean trailers) {
        world.note(this, "got " + data.readableBytes() + (end ? "$" : ""));
        world.check(!requestEnded, this + " got more after the end of its request");
        world.verify(data, client.id, received);
        received += data.readableBytes();
        data.release();
        requestEnded = end;
        world.check(received <= client.sent, this + " got more than its client has sent");
        world.check(!end || client.isComplete(received, trailers), this + " got an end that is none");
    }

    /** Returns the next part of the response. */
    ByteBuf response(int count, boolean end) {
        ByteBuf data = world.bytes(~number, sent, count);
        sent += count;
        responseEnded = end;
        return data;
    }

    void onGivenBack(int bytes) {
        givenBack += bytes;
        world.check(givenBack <= sent, this + " got back more bytes than it has sent");
    }

    void close() {
        open = false;
        if (!noRoom && !direct) {
            client.queuedSinceNanos = world.nowNanos();
        }
        client.waitingSinceNanos = world.nowNanos();
    }

    @Override
    public String toString() {
        return "call" + number;
    }
}
