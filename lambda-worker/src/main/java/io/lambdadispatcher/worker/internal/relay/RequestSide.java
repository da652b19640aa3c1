package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.WholeBody;
import io.lambdadispatcher.worker.internal.exchange.BodyGatherer;
import io.lambdadispatcher.worker.internal.exchange.TimedRequest;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The request of one exchange, between the frames and the reader of the body. <em>Arrival</em> ends
 * with the last frame (or CANCEL). <em>Delivery</em> ends with the reader's last call, or when
 * nobody reads any more. Bytes return to the window on delivery, but at the end of the exchange at
 * the latest, because the next exchange then uses the window.
 */
final class RequestSide implements Request, RequestBody, TimedRequest {
    private final ServedExchange exchange;
    private final Http2Headers head;
    private final boolean empty;

    private boolean arrived;
    private boolean over;
    private Http2Headers trailers = EmptyHttp2Headers.INSTANCE;
    private long bytes;

    private @Nullable BodyReader reader;
    private @Nullable ArrayDeque<ByteBuf> waiting;
    private boolean paused;
    private boolean delivering;
    private boolean delivered;
    private @Nullable FailureReason failure;

    RequestSide(ServedExchange exchange, Http2Headers head, boolean empty) {
        this.exchange = exchange;
        this.head = head;
        this.empty = empty;
        this.arrived = empty;
    }

    @Override
    public void onHandlerCalled() {
        exchange.onHandlerCalled();
    }

    boolean hasArrived() {
        return arrived;
    }

    long bytes() {
        return bytes;
    }

    void onData(ByteBuf part, boolean end) {
        arrived |= end;
        int partBytes = part.readableBytes();
        bytes += partBytes;
        if (partBytes == 0 || failure != null) {
            part.release();
            giveBack(partBytes);
        } else {
            queue().add(part);
        }
        deliver();
    }

    void onTrailers(Http2Headers fields) {
        arrived = true;
        trailers = fields;
        deliver();
    }

    /** The dispatcher has sent everything of this request. */
    void endArrival() {
        arrived = true;
    }

    /**
     * The exchange has ended. In a tunnel, delivery can continue at the reader's pace. Without a
     * reader, it ends here, because nobody else would release what waits.
     */
    void onOver() {
        if (reader == null) {
            failDelivery(FailureReason.NOT_NEEDED);
        }
        if (waiting != null) {
            giveBack(waiting.stream().mapToInt(ByteBuf::readableBytes).sum());
        }
        over = true;
    }

    private void giveBack(int count) {
        if (!over) {
            exchange.giveBack(count);
        }
    }

    /** Ends delivery with a failure. Has no effect if delivery has ended. */
    void failDelivery(FailureReason code) {
        if (failure != null || delivered) {
            return;
        }
        failure = code;
        dropWaiting();
        deliver();
    }

    private ArrayDeque<ByteBuf> queue() {
        if (waiting == null) {
            waiting = new ArrayDeque<>(4);
        }
        return waiting;
    }

    private void dropWaiting() {
        ByteBuf next;
        while (waiting != null && (next = waiting.poll()) != null) {
            int nextBytes = next.readableBytes();
            next.release();
            giveBack(nextBytes);
        }
    }

    /**
     * Not re-entered: if a reader pauses, resumes or ends the response during a call, this method
     * continues.
     */
    private void deliver() {
        if (delivering || delivered || reader == null) {
            return;
        }
        delivering = true;
        try (Scope scope = exchange.enter()) {
            while (!delivered && deliverNext(reader)) {}
        } catch (Throwable e) {
            exchange.onHandlerThrew(e);
        } finally {
            delivering = false;
        }
        if (failure != null) {
            // The reader has thrown, or the exchange has failed inside its call.
            deliver();
        }
    }

    private boolean deliverNext(BodyReader to) throws Exception {
        if (failure != null) {
            delivered = true;
            to.onFailed(failure);
            return false;
        }
        if (paused) {
            return false;
        }
        ByteBuf next = waiting == null ? null : waiting.poll();
        if (next != null) {
            int nextBytes = next.readableBytes();
            giveBack(nextBytes);
            to.onData(next);
            return true;
        }
        if (arrived) {
            delivered = true;
            to.onEnd(trailers);
        }
        return false;
    }

    @Override
    public boolean isEmpty() {
        return empty;
    }

    @Override
    public void read(BodyReader newReader) {
        if (reader != null) {
            throw new IllegalStateException("the request's body has a reader already: " + reader);
        }
        if (!exchange.loop().inEventLoop()) {
            throw new IllegalStateException("read() called on " + Thread.currentThread() + ", expected the event loop");
        }
        reader = newReader;
        deliver();
    }

    @Override
    public void readAll(int maxBytes, WholeBody then) {
        read(new BodyGatherer(maxBytes, then, () -> exchange.refuseBody(maxBytes)));
    }

    @Override
    public void pause() {
        exchange.onLoop(() -> paused = true);
    }

    @Override
    public void resume() {
        exchange.onLoop(() -> {
            paused = false;
            deliver();
        });
    }

    @Override
    public Http2Headers headers() {
        return head;
    }

    @Override
    public RequestBody body() {
        return this;
    }

    @Override
    public Optional<Duration> remaining() {
        return exchange.remaining();
    }

    @Override
    public void onCancel(Consumer<FailureReason> listener) {
        exchange.onCancel(listener);
    }

    @Override
    public void onDrain(Consumer<Duration> listener) {
        exchange.onDrain(listener);
    }

    @Override
    public @Nullable FailureReason cancellation() {
        return exchange.cancellation();
    }

    @Override
    public ScheduledExecutorService eventLoop() {
        return exchange.loop();
    }

    @Override
    public String toString() {
        return PrintableText.startOf(method() + " " + path());
    }
}
