package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.FrameLayout;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The response of one exchange. The order of calls is checked on the caller's thread. Frames are
 * written on the event loop. Calls of other threads are passed to it in order, and as long as one
 * of them is pending, so are calls of the event loop itself.
 */
final class ResponseSide implements Response {
    /**
     * If more bytes than this wait to be sent, the handler is asked to wait. A complete image of
     * usual size fits.
     */
    static final int HIGH_WATER_BYTES = 256 * 1024;

    /** If fewer bytes than this wait, the handler may continue. */
    static final int LOW_WATER_BYTES = 64 * 1024;

    /** What the caller may call next. */
    private enum Phase {
        HEAD,
        BODY,
        ENDED
    }

    private final ServedExchange exchange;
    private final ServedStream out;

    // Used by the caller, on whichever thread it is.
    private volatile Phase phase = Phase.HEAD;
    private final ContentLength length = new ContentLength();
    private final AtomicInteger hops = new AtomicInteger();
    private final AtomicInteger hoppingBytes = new AtomicInteger();

    /**
     * Set immediately, because earlier writes from another thread may be sent before a queued call
     * would run.
     */
    private volatile @Nullable Runnable writableListener;

    // Used on the event loop.
    private volatile boolean ended;
    private volatile boolean writable = true;
    private long bytes;
    /** {@code null} = only the handler can end the response. */
    private @Nullable CleanEnd cleanEnd;
    /** {@code null} = not yet; otherwise whether the grace period is over soon. */
    private @Nullable Boolean cleanEndDue;

    ResponseSide(ServedExchange exchange, ServedStream out) {
        this.exchange = exchange;
        this.out = out;
    }

    boolean hasEnded() {
        return ended;
    }

    /** Returns whether no response headers were given. */
    boolean isUntouched() {
        return phase == Phase.HEAD;
    }

    long bytes() {
        return bytes;
    }

    @Override
    public void interim(Http2Headers head) {
        verifyStatus(head, StatusCode.isInterim(StatusCode.parse(head.status())), "100 to 199 and not 101");
        Http2Headers sent = OutgoingHeaders.ofResponse(head);
        advance(Phase.HEAD, Phase.HEAD, "interim()");
        hop(() -> ifOpen(() -> out.interim(sent)));
    }

    @Override
    public void head(Http2Headers head) {
        Http2Headers sent = verified(head);
        advance(Phase.HEAD, Phase.BODY, "head()");
        if (isDirect()) {
            sendHead(sent);
        } else {
            hop(() -> sendHead(sent));
        }
    }

    private void sendHead(Http2Headers head) {
        if (!ended) {
            exchange.onHead(head);
            CleanEnd its = exchange.cleanEnd(head);
            cleanEnd = its;
            out.head(head, false);
            if (its != null && cleanEndDue != null) {
                end(its, cleanEndDue);
            }
        }
    }

    @Override
    public boolean write(ByteBuf content) {
        try {
            verifyOwned(content, "write()");
            if (advance(Phase.BODY, Phase.BODY, "write()")) {
                count(content.readableBytes(), false);
            }
        } catch (RuntimeException e) {
            release(content);
            throw e;
        }
        if (isDirect()) {
            send(content, false);
        } else {
            hopWithBody(content, () -> send(content, false));
        }
        return isWritable();
    }

    @Override
    public void end() {
        if (advance(Phase.BODY, Phase.ENDED, "end()")) {
            count(0, true);
        }
        hop(() -> ifOpen(() -> {
            out.data(Unpooled.EMPTY_BUFFER, true);
            finish(true);
        }));
    }

    @Override
    public void end(Http2Headers trailers) {
        Http2Headers sent = OutgoingHeaders.ofTrailers(trailers);
        if (advance(Phase.BODY, Phase.ENDED, "end(trailers)")) {
            count(0, true);
        }
        hop(() -> ifOpen(() -> {
            out.trailers(sent);
            finish(true);
        }));
    }

    @Override
    public void respond(Http2Headers head) {
        Http2Headers sent = verified(head);
        if (advance(Phase.HEAD, Phase.ENDED, "respond()")) {
            count(0, true);
        }
        hop(() -> ifOpen(() -> {
            exchange.onHead(sent);
            out.head(sent, true);
            finish(true);
        }));
    }

    @Override
    public void respond(Http2Headers head, ByteBuf body) {
        Http2Headers sent;
        try {
            verifyOwned(body, "respond()");
            sent = verified(head);
            if (advance(Phase.HEAD, Phase.ENDED, "respond()")) {
                count(body.readableBytes(), true);
            }
        } catch (RuntimeException e) {
            release(body);
            throw e;
        }
        if (isDirect()) {
            sendAll(sent, body);
        } else {
            hopWithBody(body, () -> sendAll(sent, body));
        }
    }

    private void sendAll(Http2Headers head, ByteBuf body) {
        if (ended) {
            release(body);
            return;
        }
        if (isReleased(body)) {
            return;
        }
        exchange.onHead(head);
        if (exchange.isHeadOnly()) {
            body.release();
            out.head(head, true);
            finish(true);
            return;
        }
        bytes += body.readableBytes();
        if (body.readableBytes() <= FrameLayout.MAX_PAYLOAD_BYTES) {
            out.whole(head, body);
        } else {
            out.head(head, false);
            out.data(body, true);
        }
        finish(true);
    }

    private void send(ByteBuf content, boolean end) {
        if (ended) {
            release(content);
            return;
        }
        if (isReleased(content)) {
            return;
        }
        if (exchange.isHeadOnly()) {
            content.release();
            return;
        }
        CleanEnd its = cleanEnd;
        int wanted = its == null ? content.readableBytes() : its.pass(content);
        bytes += wanted;
        out.data(content.writerIndex(content.readerIndex() + wanted), end);
        if (its != null && its.isNow()) {
            end(its);
            return;
        }
        if (out.pendingBytes() > HIGH_WATER_BYTES) {
            writable = false;
        }
    }

    @Override
    public void fail(FailureReason code, String text) {
        if (phase == Phase.ENDED) {
            return;
        }
        phase = Phase.ENDED;
        hop(() -> reset(code, text));
    }

    /**
     * Ends the response in place of the handler, as soon as its protocol permits it, and after what
     * the handler has written so far. Has no effect if it never does. Event loop only.
     *
     * @param latest whether the grace period is over soon
     */
    void endCleanly(boolean latest) {
        hop(() -> {
            // The first time of a long drain can come after the last one of a shorter second drain.
            boolean due = latest || Boolean.TRUE.equals(cleanEndDue);
            cleanEndDue = due;
            CleanEnd its = cleanEnd;
            if (!ended && its != null) {
                end(its, due);
            }
        });
    }

    private void end(CleanEnd how, boolean latest) {
        how.setDue(latest);
        if (how.isNow()) {
            end(how);
        }
    }

    private void end(CleanEnd how) {
        how.writeTo(out);
        ended = true;
        writable = false;
        exchange.onEndedForHandler();
    }

    /** Ends the response with RESET if it has not ended. Event loop only. */
    void reset(FailureReason code, String text) {
        if (!ended) {
            out.reset(code, text);
            finish(false);
        }
    }

    private void finish(boolean clean) {
        ended = true;
        writable = false;
        exchange.onResponseEnded(clean);
    }

    @Override
    public boolean isWritable() {
        return writable && hoppingBytes.get() < HIGH_WATER_BYTES;
    }

    @Override
    public void onWritable(Runnable listener) {
        writableListener = listener;
    }

    /**
     * Bytes of this exchange, or of the previous one, were sent. Called during a flush. The
     * listener may write, so it is called later.
     */
    void onTaken(int pendingBytes) {
        if (!writable && !ended && pendingBytes <= LOW_WATER_BYTES) {
            writable = true;
            exchange.loop().execute(this::notifyWritable);
        }
    }

    private void notifyWritable() {
        Runnable listener = writableListener;
        if (listener == null || ended) {
            return;
        }
        try (Scope scope = exchange.enter()) {
            listener.run();
        } catch (Throwable e) {
            exchange.onHandlerThrew(e);
        }
    }

    /** @return false if nobody wants the response any more */
    private boolean advance(Phase from, Phase to, String call) {
        Phase now = phase;
        if (now == from) {
            phase = to;
            return true;
        }
        if (exchange.cancellation() == null) {
            throw new IllegalStateException(call + " on a response that expects " + expected(now));
        }
        return false;
    }

    /**
     * Fails the response with the exception. Its caller could not correct it, because the headers
     * have announced another length.
     */
    private void count(int bodyBytes, boolean end) {
        if (exchange.isHeadOnly() || exchange.cancellation() != null || length.add(bodyBytes, end)) {
            return;
        }
        String text = length.errorOfResponse();
        phase = Phase.ENDED;
        hop(() -> reset(FailureReason.BAD_MESSAGE, text));
        throw new IllegalStateException(text);
    }

    private static void verifyOwned(ByteBuf content, String call) {
        if (Objects.requireNonNull(content, call).refCnt() == 0) {
            throw new IllegalArgumentException(
                    call + " with a buffer that has been released, expected one that its caller owns");
        }
    }

    /**
     * Returns whether a buffer was released too early, which a buffer of another thread can be on
     * its way.
     */
    private boolean isReleased(ByteBuf content) {
        if (content.refCnt() > 0) {
            return false;
        }
        exchange.onHandlerThrew(new IllegalStateException(
                "a buffer was released after it had been given to write() or respond(), which own it"));
        return true;
    }

    private static void release(@Nullable ByteBuf content) {
        if (content != null && content.refCnt() > 0) {
            content.release();
        }
    }

    private static String expected(Phase phase) {
        return switch (phase) {
            case HEAD -> "head()";
            case BODY -> "write() or end()";
            case ENDED -> "no further call, because it has ended";
        };
    }

    /**
     * Returns response headers that can be sent. The length that they announce is checked from now
     * on.
     */
    private Http2Headers verified(Http2Headers head) {
        int status = StatusCode.parse(head.status());
        verifyStatus(head, StatusCode.isFinal(status), "200 to 999");
        Http2Headers sent = OutgoingHeaders.ofResponse(head);
        if (phase == Phase.HEAD && !expectBody(sent, status)) {
            throw new IllegalArgumentException("content-length " + sent.getAll(HttpHeaderNames.CONTENT_LENGTH)
                    + ", expected one number of at most 18 digits");
        }
        return sent;
    }

    private boolean expectBody(Http2Headers head, int status) {
        if (exchange.isTunnelAsked() && TunnelHead.opens(head)) {
            length.expectAny();
            return true;
        }
        return length.expectResponse(head, status, false);
    }

    private static void verifyStatus(Http2Headers head, boolean good, String expected) {
        if (!good) {
            throw new IllegalArgumentException(":status " + head.status() + ", expected " + expected);
        }
    }

    private boolean isDirect() {
        return exchange.loop().inEventLoop() && hops.get() == 0;
    }

    private void ifOpen(Runnable action) {
        if (!ended) {
            action.run();
        }
    }

    /** @return as {@link ServedExchange#execute} */
    private boolean hop(Runnable action) {
        if (isDirect()) {
            action.run();
            return true;
        }
        hops.incrementAndGet();
        return exchange.execute(() -> {
            hops.decrementAndGet();
            action.run();
        });
    }

    private void hopWithBody(ByteBuf body, Runnable action) {
        int bodyBytes = body.readableBytes();
        hoppingBytes.addAndGet(bodyBytes);
        boolean hopped = hop(() -> {
            int before = hoppingBytes.getAndAdd(-bodyBytes);
            action.run();
            if (before >= HIGH_WATER_BYTES && before - bodyBytes < HIGH_WATER_BYTES && writable) {
                notifyWritable();
            }
        });
        if (!hopped) {
            release(body);
        }
    }
}
