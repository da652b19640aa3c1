package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.internal.exchange.EarlyBody;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.AsyncInProcessHandler;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Ticker;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * A request whose handler never waits. Publishers and subscribers may use any thread. All state is
 * confined to the event loop.
 */
final class StageCall implements InProcessCall {
    private static final SeldomLog log =
            new SeldomLog(LoggerFactory.getLogger(AsyncInProcessHandler.class), Ticker.systemTicker());

    private final InProcessStream stream;
    private final AsyncInProcessHandler handler;
    private final Http2Headers head;
    private final boolean bodyless;
    private final RequestBody requestBody = new RequestBody();
    private final ResponseBody responseBody = new ResponseBody();
    private final CompletableFuture<Map<String, List<String>>> requestTrailers = new CompletableFuture<>();
    private final long createdNanos = System.nanoTime();

    private @Nullable CompletionStage<DispatchResponse> stage;
    private @Nullable DispatchResponse response;

    /** Whether the response has ended, or nobody needs it. */
    private boolean over;

    StageCall(InProcessStream stream, AsyncInProcessHandler handler, Http2Headers head, boolean bodyless) {
        this.stream = stream;
        this.handler = handler;
        this.head = head;
        this.bodyless = bodyless;
    }

    /** Later, because the handler may answer within its call. */
    @Override
    public void start() {
        stream.onLoop(this::call);
    }

    private void call() {
        if (over) {
            return;
        }
        long waitMicros = (System.nanoTime() - createdNanos) / 1000;
        stream.onTiming(this, waitMicros, 0);
        try {
            CompletionStage<DispatchResponse> begun =
                    Objects.requireNonNull(handler.handle(request()), "the handler returned null, expected a stage");
            stage = begun;
            begun.whenComplete((answer, error) -> stream.onLoop(() -> onResponse(answer, error)));
        } catch (Throwable e) {
            fail(e);
        }
    }

    private DispatchRequest request() {
        DispatchRequest.Builder request = DispatchRequest.builder(text(head.method()), AsciiString.of(head.path()));
        request.authority(text(head.authority()));
        request.scheme(text(head.scheme()));
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            if (field.getKey().charAt(0) != ':') {
                request.header(field.getKey(), field.getValue());
            }
        }
        return bodyless
                ? request.build()
                : request.body(requestBody).trailers(requestTrailers).build();
    }

    private static String text(@Nullable CharSequence value) {
        return value == null ? "" : value.toString();
    }

    private void onResponse(@Nullable DispatchResponse answer, @Nullable Throwable error) {
        if (over) {
            if (answer != null) {
                answer.discard();
            }
        } else if (answer == null) {
            fail(error == null ? new NullPointerException("the stage has no response") : error);
        } else {
            try {
                begin(answer);
            } catch (Throwable e) {
                answer.discard();
                fail(e);
            }
        }
    }

    private void begin(DispatchResponse answer) {
        FlatHeaders given = new FlatHeaders();
        answer.forEachHeader(given::add);
        Http2Headers fields = OutgoingHeaders.ofResponse(given);
        fields.status(AsciiString.of(Integer.toString(answer.status())));
        response = answer;
        if (Methods.isHead(head.method())) {
            answer.discard();
            stream.onHead(this, fields, true);
            end();
        } else {
            stream.onHead(this, fields, false);
            if (over) {
                answer.discard();
            } else {
                answer.body().subscribe(responseBody);
            }
        }
    }

    private void fail(Throwable cause) {
        log.warn("the in-process handler failed on {} {}", head.method(), head.path(), cause);
        stream.onFailed(
                this, "the in-process handler failed with " + cause.getClass().getName());
        end();
    }

    /** The stream is free when the current call of it has ended. */
    private void end() {
        if (!over) {
            over = true;
            requestBody.stop(null);
            responseBody.stop();
            stream.onLoop(() -> stream.onReturned(this));
        }
    }

    // From the stream.

    @Override
    public void onRequestData(ByteBuf data) {
        requestBody.add(data);
    }

    @Override
    public void onRequestEnd(Http2Headers trailers) {
        requestTrailers.complete(HeaderMaps.of(trailers));
        requestBody.onEnd();
    }

    @Override
    public void onResponseTaken(int bytes) {
        responseBody.onTaken(bytes);
    }

    @Override
    public void cancel() {
        CompletionStage<DispatchResponse> begun = stage;
        end();
        if (begun != null && response == null) {
            guarded(() -> begun.toCompletableFuture().cancel(false));
        }
    }

    private static void guarded(Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            log.warn("the in-process handler threw an exception when its request was cancelled", e);
        }
    }

    /** Passes parts on as the handler asks for them. */
    private final class RequestBody implements Flow.Publisher<ByteBuf>, Flow.Subscription {
        private final EarlyBody parts = new EarlyBody();
        private Flow.@Nullable Subscriber<? super ByteBuf> subscriber;
        private long asked;
        private boolean ended;
        /** Whether parts are dropped from now on. */
        private boolean stopped;

        private boolean passing;

        @Override
        public void subscribe(Flow.Subscriber<? super ByteBuf> to) {
            stream.onLoop(() -> {
                boolean first = subscriber == null;
                if (first) {
                    subscriber = to;
                }
                guarded(() -> {
                    to.onSubscribe(this);
                    if (!first) {
                        to.onError(new IllegalStateException("a second subscriber of the request's body"));
                    } else if (over) {
                        to.onError(cancelled());
                    } else {
                        pass();
                    }
                });
            });
        }

        private IOException cancelled() {
            return new IOException("the request was cancelled, or its response has ended");
        }

        @Override
        public void request(long n) {
            stream.onLoop(() -> {
                if (n <= 0) {
                    stop(new IllegalArgumentException("request(" + n + "), expected more than 0"));
                } else {
                    asked = asked + n < 0 ? Long.MAX_VALUE : asked + n;
                    pass();
                }
            });
        }

        @Override
        public void cancel() {
            stream.onLoop(this::drop);
        }

        /** Drops what has arrived and what follows. */
        private void drop() {
            stopped = true;
            int dropped = parts.release();
            if (dropped > 0) {
                stream.onRequestTaken(StageCall.this, dropped);
            }
        }

        void add(ByteBuf data) {
            if (stopped) {
                int dropped = data.readableBytes();
                data.release();
                stream.onRequestTaken(StageCall.this, dropped);
            } else {
                parts.add(data);
                pass();
            }
        }

        void onEnd() {
            ended = true;
            pass();
        }

        private void pass() {
            Flow.Subscriber<? super ByteBuf> to = subscriber;
            if (passing || stopped || to == null) {
                return;
            }
            passing = true;
            try {
                while (!stopped && asked > 0 && !parts.isEmpty()) {
                    ByteBuf part = Objects.requireNonNull(parts.poll());
                    int bytes = part.readableBytes();
                    asked--;
                    to.onNext(part);
                    stream.onRequestTaken(StageCall.this, bytes);
                }
                if (!stopped && ended && parts.isEmpty()) {
                    stopped = true;
                    to.onComplete();
                }
            } catch (Throwable e) {
                stopped = true;
                parts.release();
                fail(e);
            } finally {
                passing = false;
            }
        }

        /** @param error why the subscriber gets no more; {@code null} = nobody waits for it */
        void stop(@Nullable RuntimeException error) {
            Flow.Subscriber<? super ByteBuf> to = stopped ? null : subscriber;
            drop();
            if (to != null) {
                guarded(() -> to.onError(error == null ? cancelled() : error));
            }
        }
    }

    /** Asks for a buffer when the client has taken the previous one. */
    private final class ResponseBody implements Flow.Subscriber<ByteBuf> {
        private Flow.@Nullable Subscription subscription;
        private boolean asked;
        private int untakenBytes;

        @Override
        public void onSubscribe(Flow.Subscription given) {
            stream.onLoop(() -> {
                if (over || subscription != null) {
                    guarded(given::cancel);
                } else {
                    subscription = given;
                    ask();
                }
            });
        }

        @Override
        public void onNext(ByteBuf data) {
            if (!stream.onLoop(() -> send(data))) {
                ReferenceCountUtil.safeRelease(data);
            }
        }

        private void send(ByteBuf data) {
            if (over) {
                ReferenceCountUtil.safeRelease(data);
                return;
            }
            asked = false;
            untakenBytes += data.readableBytes();
            stream.onData(StageCall.this, data, false);
            askWhenTaken();
        }

        @Override
        public void onError(Throwable error) {
            stream.onLoop(() -> {
                if (!over) {
                    fail(error);
                }
            });
        }

        @Override
        public void onComplete() {
            stream.onLoop(() -> {
                if (!over) {
                    finish();
                }
            });
        }

        private void finish() {
            Http2Headers trailers;
            try {
                Map<String, List<String>> given = response == null
                        ? null
                        : response.trailers().toCompletableFuture().getNow(null);
                trailers =
                        given == null || given.isEmpty() ? null : OutgoingHeaders.ofTrailers(HeaderMaps.parse(given));
            } catch (RuntimeException e) {
                fail(e);
                return;
            }
            try {
                if (trailers == null) {
                    stream.onData(StageCall.this, Unpooled.EMPTY_BUFFER, true);
                } else {
                    stream.onTrailers(StageCall.this, trailers);
                }
            } finally {
                end();
            }
        }

        void onTaken(int bytes) {
            untakenBytes -= bytes;
            askWhenTaken();
        }

        private void askWhenTaken() {
            if (untakenBytes == 0 && !asked && !over) {
                ask();
            }
        }

        /** Later, because the publisher may call {@link #onNext} immediately. */
        private void ask() {
            Flow.Subscription given = subscription;
            if (given != null) {
                asked = true;
                stream.onLoop(() -> {
                    if (!over) {
                        try {
                            given.request(1);
                        } catch (Throwable e) {
                            fail(e);
                        }
                    }
                });
            }
        }

        void stop() {
            if (subscription != null) {
                guarded(subscription::cancel);
            }
        }
    }
}
