package io.lambdadispatcher.shadow;

import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
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
    private static final Logger log = LoggerFactory.getLogger(ShadowTraffic.class);
    private static final int MOST_BODY_BYTES = 256 * 1024;
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final AtomicLong nextLog = new AtomicLong(System.nanoTime());

    private final RequestContext request;
    private final String shadow;
    private final LongSupplier nanoTime;
    private final Runnable onOver;
    private final DispatchRequest.Builder copy;
    private final long startNanos;

    /** What has arrived of the body; {@code null} = there is none, or nobody needs it any more. */
    private @Nullable ByteArrayOutputStream body;

    private boolean complete;
    private int status;
    private long headNanos;

    /**
     * The copy until its response begins, then the rest of the response; {@code null} = the
     * function has not answered, or the body is not complete.
     */
    private @Nullable CompletableFuture<?> sent;

    private boolean over;

    /** @param shadow the other function */
    ShadowCopy(RequestContext request, String shadow, LongSupplier nanoTime, Runnable onOver) {
        this.request = request;
        this.shadow = shadow;
        this.nanoTime = nanoTime;
        this.onOver = onOver;
        body = request.hasBody() ? new ByteArrayOutputStream() : null;
        complete = body == null;
        startNanos = nanoTime.getAsLong();
        // Now, because the function may change the headers.
        copy = request.copy().header(ShadowTraffic.HEADER, String.valueOf(request.function()));
    }

    /** Returns what keeps the body of the request. */
    BodyFilter body() {
        Map<String, List<String>> trailers = new LinkedHashMap<>();
        // They can follow the end of the body, before the copy is sent.
        copy.trailers(CompletableFuture.completedFuture(trailers));
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
                fields.forEach((name, value) ->
                        trailers.computeIfAbsent(name, any -> new ArrayList<>()).add(value));
            }
        };
    }

    private void keep(ByteBuf data) {
        if (body != null && body.size() + data.readableBytes() > MOST_BODY_BYTES) {
            end("lagged");
        } else if (body != null) {
            byte[] bytes = new byte[data.readableBytes()];
            data.getBytes(data.readerIndex(), bytes);
            body.writeBytes(bytes);
        }
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
        CompletableFuture<?> its = sent;
        if (its == null && !over) {
            end("not_compared");
        } else if (its != null && failure != null) {
            over();
            its.cancel(false);
        }
    }

    /** @param result why nothing is compared */
    private void end(String result) {
        body = null;
        over();
        count(request, shadow, result);
    }

    static void count(RequestContext request, String shadow, String result) {
        request.report(FilterEvent.counted(
                "shadow.requests",
                "Copies of requests to another function, by how they compare with the request",
                Map.of("shadow", shadow, "result", result)));
    }

    private void over() {
        if (!over) {
            over = true;
            onOver.run();
        }
    }

    private void sendIfAnswered() {
        if (!complete || status == 0 || sent != null || over) {
            return;
        }
        if (body != null) {
            copy.body(body.toByteArray());
            body = null;
        }
        long sentNanos = nanoTime.getAsLong();
        CompletableFuture<DispatchResponse> its =
                request.send(shadow, copy.build()).toCompletableFuture();
        sent = its;
        its.whenComplete((response, error) -> {
            if (error != null) {
                end(its.isCancelled() ? "not_compared" : "failed");
            } else {
                compare(response, nanoTime.getAsLong() - sentNanos);
                CompletableFuture<Void> rest = response.drain().toCompletableFuture();
                sent = rest;
                rest.whenComplete((end, failure) -> over());
            }
        });
    }

    private void compare(DispatchResponse response, long nanos) {
        boolean same = status / 100 == response.status() / 100;
        if (!same) {
            logDifference(response.status());
        }
        count(request, shadow, same ? "same" : "different");
        time("function", headNanos - startNanos);
        time("shadow", nanos);
    }

    private void time(String of, long nanos) {
        request.report(new FilterEvent(
                "shadow.headers",
                "Time of a copied request until the headers of the response of its function and of the other one",
                Map.of("shadow", shadow, "of", of),
                nanos));
    }

    /** At most every 10 s, without the query. */
    private void logDifference(int shadowStatus) {
        long now = System.nanoTime();
        long next = nextLog.get();
        if (now - next >= 0 && nextLog.compareAndSet(next, now + LOG_NANOS)) {
            DispatchRequest its = copy.build();
            String path = its.path().split("\\?", 2)[0];
            String text = "{} {}: function {} answered {}, its shadow {} answered {}";
            String shown = path.substring(0, Math.min(path.length(), 512));
            log.warn(text, its.method(), shown, its.header(ShadowTraffic.HEADER), status, shadow, shadowStatus);
        }
    }
}
