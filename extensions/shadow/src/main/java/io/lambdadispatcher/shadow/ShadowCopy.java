package io.lambdadispatcher.shadow;

import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request that is copied when its function has answered and its body is complete. So an overload
 * does not spread. Confined to the client's event loop.
 */
final class ShadowCopy implements ResponseFilter {
    private enum State {
        /** The function has not answered, or the body is not complete. */
        WAITING,
        /** The response of the copy has not ended. */
        SENT,
        OVER
    }

    private static final Logger log = LoggerFactory.getLogger(ShadowTraffic.class);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final AtomicLong nextLog = new AtomicLong(Long.MIN_VALUE);

    private final RequestContext request;
    private final ShadowPolicy policy;
    private final String function;
    private final LongSupplier nanoTime;
    private final Runnable onOver;
    private final String method;
    private final String path;
    private final DispatchRequest.Builder copy;
    private final Http2Headers trailers = new DefaultHttp2Headers();
    private final long startNanos;

    /** What has arrived of the body; {@code null} = none, or nobody needs it any more. */
    private @Nullable ByteArrayOutputStream body;

    private boolean complete;
    private State state = State.WAITING;
    private int status;
    private long headNanos;
    private @Nullable CompletableFuture<DispatchResponse> sent;

    /** Of the response of the copy. */
    private Flow.@Nullable Subscription rest;

    ShadowCopy(RequestContext request, ShadowPolicy policy, String function, LongSupplier nanoTime, Runnable onOver) {
        this.request = request;
        this.policy = policy;
        this.function = function;
        this.nanoTime = nanoTime;
        this.onOver = onOver;
        method = request.method();
        path = request.path();
        body = request.hasBody() ? new ByteArrayOutputStream() : null;
        complete = body == null;
        startNanos = nanoTime.getAsLong();
        // Now, because the function may change the headers.
        copy = DispatchRequest.builder(method, path).scheme(request.scheme()).header(ShadowTraffic.HEADER, function);
        if (!request.authority().isEmpty()) {
            copy.authority(request.authority());
        }
        request.headers().forEach((name, value) -> {
            // That of the body is added.
            if (!name.equals("content-length")) {
                copy.header(name, value);
            }
        });
    }

    /** Returns what keeps the body of the request. */
    BodyFilter body() {
        return new BodyFilter() {
            @Override
            public ByteBuf onData(ByteBuf data) {
                keep(data);
                return data;
            }

            @Override
            public ByteBuf onBodyEnd() {
                complete = true;
                sendIfAnswered();
                return BodyFilter.super.onBodyEnd();
            }

            @Override
            public long heldBytes() {
                return body == null ? 0 : body.size();
            }

            @Override
            public void onTrailers(HeaderFields fields) {
                fields.forEach(trailers::add);
            }
        };
    }

    private void keep(ByteBuf data) {
        if (body == null) {
            return;
        }
        if (body.size() + data.readableBytes() > policy.bufferBytes()) {
            end("lagged");
            return;
        }
        byte[] bytes = new byte[data.readableBytes()];
        data.getBytes(data.readerIndex(), bytes);
        body.writeBytes(bytes);
    }

    @Override
    public void onHead(int its, HeaderFields headers) {
        status = its;
        headNanos = nanoTime.getAsLong();
        sendIfAnswered();
    }

    /**
     * The rest of a request that is not complete is dropped before it arrives here, so there is
     * nothing to copy. The copy of a request that has failed since, or whose client has left, ends
     * with it.
     */
    @Override
    public void onEnd(@Nullable String failure) {
        if (state == State.WAITING) {
            end("not_compared");
        } else if (failure != null) {
            cancel();
        }
    }

    private void end(String result) {
        body = null;
        over();
        ShadowTraffic.count(request, policy, result);
    }

    private void cancel() {
        if (state == State.SENT) {
            over();
            if (sent != null) {
                sent.cancel(false);
            }
            if (rest != null) {
                rest.cancel();
            }
        }
    }

    private void over() {
        if (state != State.OVER) {
            state = State.OVER;
            onOver.run();
        }
    }

    private void sendIfAnswered() {
        if (!complete || status == 0 || state != State.WAITING) {
            return;
        }
        state = State.SENT;
        if (body != null) {
            // The trailers can follow after this call, and before the copy is sent.
            copy.body(body.toByteArray()).trailers(CompletableFuture.completedFuture(trailers));
            body = null;
        }
        long sentNanos = nanoTime.getAsLong();
        CompletableFuture<DispatchResponse> its = send().toCompletableFuture();
        sent = its;
        its.whenComplete((response, error) -> {
            if (error != null) {
                end(its.isCancelled() ? "not_compared" : "failed");
            } else {
                compare(response, nanoTime.getAsLong() - sentNanos);
                response.body().subscribe(new Dropped());
            }
        });
    }

    /**
     * A filter can have set headers that a request cannot have. Whatever is wrong, the client must
     * not suffer.
     */
    private CompletionStage<DispatchResponse> send() {
        try {
            return request.send(policy.function(), copy.build());
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void compare(DispatchResponse response, long nanos) {
        boolean same = status / 100 == response.status() / 100;
        if (!same) {
            logDifference(response.status());
        }
        ShadowTraffic.count(request, policy, same ? "same" : "different");
        time("function", headNanos - startNanos);
        time("shadow", nanos);
    }

    private void time(String of, long nanos) {
        request.report(new FilterEvent(
                "shadow.headers",
                "Time of a copied request until the headers of the response of its function and of the other one",
                Map.of("shadow", policy.function(), "of", of),
                nanos));
    }

    /** At most every 10 s, without the query. */
    private void logDifference(int shadowStatus) {
        long now = System.nanoTime();
        long next = nextLog.get();
        if ((next == Long.MIN_VALUE || now - next >= 0) && nextLog.compareAndSet(next, now + LOG_NANOS)) {
            int query = path.indexOf('?');
            String shown = path.substring(0, Math.min(query < 0 ? path.length() : query, 512));
            String text = "{} {}: function {} answered {}, its shadow {} answered {}";
            log.warn(text, method, shown, function, status, policy.function(), shadowStatus);
        }
    }

    /** Drops the body of a response as it arrives. */
    private final class Dropped implements Flow.Subscriber<ByteBuf> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            if (state == State.OVER) {
                subscription.cancel();
                return;
            }
            rest = subscription;
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(ByteBuf data) {
            data.release();
        }

        @Override
        public void onError(Throwable error) {
            over();
        }

        @Override
        public void onComplete() {
            over();
        }
    }
}
