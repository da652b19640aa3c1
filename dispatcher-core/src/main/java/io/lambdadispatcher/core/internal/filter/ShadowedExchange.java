package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ShadowEnd;
import io.lambdadispatcher.core.observe.ShadowEnd.Result;
import io.lambdadispatcher.core.options.ShadowPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A request that is copied to another function. All calls between the client and its own function
 * pass through unchanged and come first. The copy gets the same parts of the body as retained
 * duplicates, and its response is dropped.
 *
 * <p>The bytes that the other function has not taken are limited. Beyond the limit, the copy is
 * cancelled. The client's flow control knows only its own function. Confined to the client's event
 * loop.
 */
final class ShadowedExchange implements RequestSink, ForwardingSink {
    private static final AsciiString HEADER = AsciiString.cached(ShadowPolicy.HEADER);
    private static final long UNKNOWN = -1;

    private final Shadows shadows;
    private final ShadowPolicy policy;
    private final EventLoop loop;
    private final Http2Headers head;
    private final Http2Headers copiedHead;
    private final ResponseSink response;
    private final long startNanos;
    private final Copy copy = new Copy();

    private @Nullable RequestSink request;

    /** Whether the client has sent the complete request. */
    private boolean requestEnded;

    /** Whether no response of the client's function will arrive any more. */
    private boolean unanswered;

    private int status;
    private long headNanos = UNKNOWN;

    ShadowedExchange(Shadows shadows, ShadowPolicy policy, EventLoop loop, Http2Headers head, ResponseSink response) {
        this.shadows = shadows;
        this.policy = policy;
        this.loop = loop;
        this.head = head;
        this.response = response;
        // Before the client's function gets the headers, because it may change them.
        copiedHead = new FlatHeaders().add(head);
        copiedHead.set(HEADER, shadows.function());
        startNanos = loop.ticker().nanoTime();
    }

    RequestSink open(FunctionOpener next, TrafficPolicy traffic, FunctionOpener other, boolean end) {
        requestEnded = end;
        request = next.open(head, end, this, traffic);
        copy.open(other, end);
        return this;
    }

    @Override
    public ResponseSink outer() {
        return response;
    }

    private RequestSink request() {
        RequestSink opened = request;
        if (opened == null) {
            throw new IllegalStateException("the client has no exchange yet");
        }
        return opened;
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        requestEnded |= end;
        // The copy first: its client may send the next part while the function takes this one.
        if (copy.takes(data.readableBytes())) {
            copy.data(data.retainedDuplicate(), end);
        }
        request().data(data, end);
    }

    @Override
    public void trailers(Http2Headers trailers) {
        requestEnded = true;
        copy.trailers(trailers);
        request().trailers(trailers);
    }

    @Override
    public void cancel(ErrorCode code) {
        request().cancel(code);
        copy.cancel(code, Result.NOT_COMPARED);
    }

    @Override
    public void responseTaken(int bytes) {
        request().responseTaken(bytes);
    }

    @Override
    public void endedResponseTaken(int bytes) {
        request().endedResponseTaken(bytes);
    }

    @Override
    public void detach() {
        request().detach();
    }

    @Override
    public long heldBytes() {
        return (request == null ? 0 : request.heldBytes()) + copy.heldBytes();
    }

    // From the client's function.

    @Override
    public void onHead(Http2Headers fields, boolean end) {
        status = StatusCode.parse(fields.status());
        headNanos = loop.ticker().nanoTime();
        response.onHead(fields, end);
        copy.compare();
        if (end) {
            onResponseEnd();
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        response.onData(data, end);
        if (end) {
            onResponseEnd();
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        response.onTrailers(trailers);
        onResponseEnd();
    }

    @Override
    public void onFailure(Failure failure) {
        unanswered = headNanos == UNKNOWN;
        response.onFailure(failure);
        if (unanswered) {
            copy.compare();
        }
        onResponseEnd();
    }

    /** The rest of the request is dropped before it arrives here, so the copy would never end. */
    private void onResponseEnd() {
        if (!requestEnded) {
            copy.cancel(ErrorCode.CANCELLED, Result.NOT_COMPARED);
        }
    }

    /** The other function's exchange, whose client this is. */
    private final class Copy implements ResponseSink {
        private @Nullable RequestSink sink;

        /** Whether the exchange has ended, or is cancelled. */
        private boolean ended;

        private boolean reported;
        private int heldBytes;
        private int shadowStatus;
        private long shadowNanos = UNKNOWN;

        /** Bytes of the response that arrived while the exchange was being opened. */
        private int earlyBytes;

        void open(FunctionOpener other, boolean end) {
            if (ended) {
                return;
            }
            if (unanswered) {
                // The client's function has refused the request: an overload must not spread.
                finish();
                return;
            }
            RequestSink opened =
                    other.open(copiedHead, end, this, other.policy().withoutFilters());
            sink = opened;
            if (earlyBytes > 0) {
                opened.responseTaken(earlyBytes);
            }
        }

        /** Returns whether a part of the body is copied. Cancels a copy that lags behind. */
        boolean takes(int bytes) {
            if (!ended && heldBytes + bytes > policy.bufferBytes()) {
                cancel(ErrorCode.CANCELLED, Result.LAGGED);
            }
            return !ended;
        }

        void data(ByteBuf data, boolean end) {
            if (ended || sink == null) {
                data.release();
            } else {
                heldBytes += data.readableBytes();
                sink.data(data, end);
            }
        }

        void trailers(Http2Headers trailers) {
            if (!ended && sink != null) {
                sink.trailers(trailers);
            }
        }

        void cancel(ErrorCode code, Result result) {
            if (!ended) {
                ended = true;
                shadows.leave();
                if (sink != null) {
                    sink.cancel(code);
                }
                report(result);
            }
        }

        /** The exchange has ended by itself. */
        private void finish() {
            if (!ended) {
                ended = true;
                shadows.leave();
                compare();
            }
        }

        long heldBytes() {
            return ended ? 0 : heldBytes + (sink == null ? 0 : sink.heldBytes());
        }

        /** Reports the copy if both sides have their result. */
        void compare() {
            boolean answered = shadowNanos != UNKNOWN;
            if (!ended && !answered) {
                return;
            }
            if (unanswered) {
                report(Result.NOT_COMPARED);
            } else if (!answered) {
                report(Result.FAILED);
            } else if (headNanos != UNKNOWN) {
                report(status / 100 == shadowStatus / 100 ? Result.SAME : Result.DIFFERENT);
            }
        }

        private void report(Result result) {
            if (!reported) {
                reported = true;
                shadows.report(
                        new ShadowEnd(
                                shadows.function(),
                                policy.function(),
                                result,
                                status,
                                shadowStatus,
                                headNanos == UNKNOWN ? UNKNOWN : headNanos - startNanos,
                                shadowNanos == UNKNOWN ? UNKNOWN : shadowNanos - startNanos),
                        copiedHead);
            }
        }

        @Override
        public Object client(Http2Headers requestHead) {
            return response.client(requestHead);
        }

        @Override
        public @Nullable SocketAddress remoteAddress() {
            return response.remoteAddress();
        }

        @Override
        public ClientProtocol protocol() {
            return response.protocol();
        }

        @Override
        public void onInterim(Http2Headers interim) {}

        @Override
        public boolean isDoneWithHead() {
            return true;
        }

        @Override
        public void onHead(Http2Headers fields, boolean end) {
            shadowStatus = StatusCode.parse(fields.status());
            shadowNanos = loop.ticker().nanoTime();
            compare();
            if (end) {
                finish();
            }
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            int bytes = data.readableBytes();
            data.release();
            if (sink == null) {
                earlyBytes += bytes;
            } else {
                sink.responseTaken(bytes);
            }
            if (end) {
                finish();
            }
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            finish();
        }

        @Override
        public void onFailure(Failure failure) {
            finish();
        }

        @Override
        public void onRequestTaken(int bytes) {
            heldBytes -= bytes;
        }
    }
}
