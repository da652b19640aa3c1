package io.lambdadispatcher.core.internal.embed;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.LoopFuture;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.Trailers;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects an embedder's request with its exchange. Publishers and subscribers may use any thread.
 * All state is confined to the exchange's event loop.
 */
public final class EmbeddedExchange extends DeadlineQueue.Entry implements ResponseSink {
    private static final Logger log = LoggerFactory.getLogger(EmbeddedExchange.class);
    static final Failure CLOSED = new Failure(Failure.Kind.SHUTTING_DOWN, "the dispatcher has closed");

    private static final SeldomLog unread = new SeldomLog(log, Ticker.systemTicker());

    private final EventLoop loop;
    private final Duration unreadTimeout;
    private final DeadlineQueue<EmbeddedExchange> undelivered;
    private final LoopFuture<DispatchResponse> response;
    private final LoopFuture<Map<String, List<String>>> trailers;
    private final RequestBody requestBody = new RequestBody();
    private final ResponseBody responseBody = new ResponseBody(this);
    private @Nullable CompletionStage<Map<String, List<String>>> requestTrailers;
    private final Requester requester;
    private @Nullable RequestSink request;
    private final ContentLength requestLength = new ContentLength();
    private @Nullable Future<?> unreadTimer;
    private boolean ended;

    private EmbeddedExchange(
            EventLoop loop,
            DispatchRequest request,
            Requester requester,
            Duration unreadTimeout,
            DeadlineQueue<EmbeddedExchange> undelivered) {
        String named = request.client();
        this.loop = loop;
        this.response = new LoopFuture<>(loop);
        this.trailers = new LoopFuture<>(loop);
        this.unreadTimeout = unreadTimeout;
        this.undelivered = undelivered;
        this.requester = named == null ? requester : Requester.named(named);
        response.whenComplete((answer, error) -> {
            if (response.isCancelled()) {
                cancel();
            }
        });
    }

    /**
     * Starts a request. The stage fails with {@link DispatchException}, or with the error of the
     * request's body. Cancelling its future cancels the request. Any thread.
     *
     * @param client for whom a filter sends it, if it names no client. It starts in a task of its
     *     own, because the filter may be in the middle of another request; {@code null} = the
     *     embedding program sends it
     * @param unreadTimeout the time after which the response is cancelled if nobody reads its body
     * @param undelivered contains the exchange while its response is complete, but its subscriber
     *     has not taken all of it. Confined to the event loop
     * @throws IllegalArgumentException for headers that HTTP does not allow
     */
    public static CompletionStage<DispatchResponse> start(
            EventLoop loop,
            ExchangeOpener opener,
            DispatchRequest request,
            @Nullable Object client,
            Duration unreadTimeout,
            DeadlineQueue<EmbeddedExchange> undelivered) {
        Requester requester = client == null ? Requester.EMBEDDING_PROGRAM : Requester.named(client);
        EmbeddedExchange exchange = new EmbeddedExchange(loop, request, requester, unreadTimeout, undelivered);
        Http2Headers head = RequestHeaders.head(request);
        Runnable open = () -> exchange.open(opener, request, head);
        if (!(client == null ? exchange.onLoop(open) : Loops.execute(loop, open))) {
            exchange.onFailure(CLOSED);
        }
        return exchange.response;
    }

    /** @return false if the event loop has ended, and with it the exchange */
    boolean onLoop(Runnable call) {
        if (loop.inEventLoop()) {
            call.run();
            return true;
        }
        return Loops.execute(loop, call);
    }

    private void open(ExchangeOpener opener, DispatchRequest from, Http2Headers head) {
        if (response.isDone()) {
            return;
        }
        requestTrailers = from.trailers();
        Flow.Publisher<ByteBuf> body = from.body();
        requestLength.expectRequest(head);
        request = opener.open(head, body == null, this);
        if (body != null) {
            guarded(() -> body.subscribe(requestBody), requestBody::onError);
        }
    }

    /**
     * Calls the embedding program's code. An exception fails only this exchange, and not others on
     * this event loop.
     */
    static void guarded(Runnable call, Consumer<Throwable> onThrown) {
        try {
            call.run();
        } catch (Throwable e) {
            onThrown.accept(e);
        }
    }

    /** Cancels the request, because nobody wants the response. Any thread. */
    void cancel() {
        onLoop(() -> {
            if (!ended) {
                ended = true;
                requestBody.stop();
                if (request != null) {
                    request.cancel(ErrorCode.CANCELLED);
                }
                trailers.cancel(false);
                onBodyClaimed();
                if (response.isCancelled() && !responseBody.isClaimed()) {
                    responseBody.expire(new CancellationException("the request was cancelled"));
                }
            }
        });
    }

    void taken(int bytes) {
        if (request != null) {
            request.responseTaken(bytes);
        }
        if (!responseBody.isWaiting()) {
            undelivered.remove(this);
        }
    }

    @Override
    public Requester requester() {
        return requester;
    }

    @Override
    public void onInterim(Http2Headers head) {}

    @Override
    public void onHead(Http2Headers head, boolean end) {
        HopByHop.removeFromResponse(head);
        int status = StatusCode.parse(head.status());
        response.complete(new DispatchResponse(status, head, responseBody, responseBody::discard, trailers));
        if (end) {
            finish(Map.of());
        } else if (!responseBody.isClaimed()) {
            unreadTimer = loop.schedule(this::onUnread, unreadTimeout.toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    /** Cancels the timer of an unread body, because the body has a subscriber or is discarded. */
    void onBodyClaimed() {
        Future<?> timer = unreadTimer;
        if (timer != null) {
            unreadTimer = null;
            timer.cancel(false);
        }
    }

    private void onUnread() {
        String detail = "the response's body was not read within " + PrintableText.of(unreadTimeout)
                + ", expected a subscriber, bodyAsBytes(), bodyAsString(), drain() or discard()";
        unread.warn("request cancelled: {}", detail);
        cancel();
        responseBody.expire(exception(new Failure(Failure.Kind.TIMEOUT, detail)));
    }

    /** Converts a failure into the exception for the embedding program. Any thread. */
    public static DispatchException exception(Failure failure) {
        return new DispatchException(
                failure.kind().token(),
                failure.kind().status().code(),
                failure.detail(),
                Duration.ofSeconds(failure.retryAfterSeconds()));
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        responseBody.add(data);
        if (end) {
            finish(Map.of());
        }
    }

    @Override
    public void onTrailers(Http2Headers fields) {
        Trailers.removeForbidden(fields);
        finish(HeaderMaps.of(fields));
    }

    private void finish(Map<String, List<String>> fields) {
        ended = true;
        requestBody.stop();
        trailers.complete(fields);
        responseBody.end(null);
        if (responseBody.isWaiting()) {
            undelivered.add(this, 0);
        }
        forgetTimerOfEmptyBody();
    }

    /**
     * Fails the rest of a complete response that its subscriber has not taken. Event loop only.
     */
    public void failUndelivered(Failure failure) {
        onBodyClaimed();
        responseBody.expire(exception(failure));
    }

    private void forgetTimerOfEmptyBody() {
        if (!responseBody.isWaiting()) {
            onBodyClaimed();
        }
    }

    @Override
    public void onFailure(Failure failure) {
        ended = true;
        requestBody.stop();
        DispatchException error = exception(failure);
        response.completeExceptionally(error);
        trailers.completeExceptionally(error);
        responseBody.end(error);
        forgetTimerOfEmptyBody();
    }

    @Override
    public void onRequestTaken(int bytes) {
        requestBody.onTaken(bytes);
    }

    /**
     * Subscribes to the request's body. It requests the next buffer when the worker has taken the
     * previous one, so memory is bounded by one buffer and the worker stream's window.
     */
    private final class RequestBody implements Flow.Subscriber<ByteBuf> {
        private Flow.@Nullable Subscription subscription;
        private boolean stopped;
        private int untakenBytes;

        /** Whether a buffer is requested, or is about to be, and has not arrived yet. */
        private boolean asked;

        @Override
        public void onSubscribe(Flow.Subscription given) {
            onLoop(() -> {
                if (stopped || subscription != null) {
                    given.cancel();
                } else {
                    subscription = given;
                    asked = true;
                    ask();
                }
            });
        }

        @Override
        public void onNext(ByteBuf data) {
            if (!onLoop(() -> take(data))) {
                ReferenceCountUtil.safeRelease(data);
            }
        }

        private void take(ByteBuf data) {
            if (stopped || request == null) {
                ReferenceCountUtil.safeRelease(data);
                return;
            }
            asked = false;
            if (data.refCnt() == 0) {
                refuse("a buffer of the request's body has been released, expected one that the publisher owns");
                return;
            }
            if (!requestLength.add(data.readableBytes(), false)) {
                data.release();
                refuse("the request's body is longer than its content-length");
                return;
            }
            untakenBytes += data.readableBytes();
            request.data(new HeldBody(data), false);
            askWhenTaken();
        }

        @Override
        public void onError(Throwable error) {
            onLoop(() -> {
                if (!stopped) {
                    breakOff(error);
                }
            });
        }

        @Override
        public void onComplete() {
            onLoop(() -> {
                if (stopped || request == null) {
                    return;
                }
                if (requestLength.add(0, true)) {
                    end(request);
                } else {
                    refuse("the request's body is shorter than its content-length");
                }
            });
        }

        private void end(RequestSink to) {
            try {
                Map<String, List<String>> given = requestTrailers == null
                        ? null
                        : requestTrailers.toCompletableFuture().getNow(null);
                if (given == null || given.isEmpty()) {
                    to.data(Unpooled.EMPTY_BUFFER, true);
                } else {
                    to.trailers(RequestHeaders.trailers(given));
                }
            } catch (IllegalArgumentException e) {
                refuse(String.valueOf(e.getMessage()));
            } catch (CompletionException | CancellationException e) {
                breakOff(e);
            }
        }

        private void refuse(String why) {
            breakOff(exception(new Failure(Failure.Kind.BAD_REQUEST, why)));
        }

        private void breakOff(Throwable error) {
            cancel();
            response.completeExceptionally(error);
            responseBody.end(error);
        }

        void onTaken(int bytes) {
            untakenBytes -= bytes;
            askWhenTaken();
        }

        /**
         * Requests the next buffer in a separate task. The publisher may call {@link #onNext}
         * immediately, and the current call may still be sending the previous buffer.
         */
        private void askWhenTaken() {
            if (untakenBytes == 0 && !asked && !stopped && subscription != null) {
                asked = true;
                loop.execute(this::ask);
            }
        }

        private void ask() {
            Flow.Subscription given = subscription;
            if (!stopped && given != null) {
                guarded(() -> given.request(1), this::onError);
            }
        }

        void stop() {
            if (!stopped) {
                stopped = true;
                if (subscription != null) {
                    guarded(subscription::cancel, thrown -> {});
                }
            }
        }
    }
}
