package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.GatheredExchange;
import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notifies the application that the worker begins to drain, with one POST without a body. Only the
 * application knows how to end its long streams. Methods may be called from any thread.
 *
 * <p><b>Errors.</b> A failure is logged.
 *
 * @param path the application's path for the notice
 * @param grace the time for which requests in flight may continue
 */
record DrainNotice(String path, DrainReason reason, Duration grace) {
    static final AsciiString REASON = AsciiString.cached("lambda-dispatcher-drain-reason");
    static final AsciiString GRACE_MILLIS = AsciiString.cached("lambda-dispatcher-drain-grace-millis");

    /** The maximum time that the worker waits for the application's response before it ends. */
    private static final long LONGEST_ANSWER_MILLIS = 5_000;

    private static final int NO_STATUS = 0;

    private static final Logger log = LoggerFactory.getLogger(DrainNotice.class);

    /**
     * Sends the notice.
     *
     * @param relay passes the request to the application
     * @return completes with the response. Fails if there is none
     */
    CompletionStage<?> send(WebInvocations invocations, Upstream relay) {
        int timeoutMillis = (int) Math.max(1, Math.min(LONGEST_ANSWER_MILLIS, grace.toMillis()));
        GatheredExchange exchange =
                invocations.start(new WebEvent(WebEvent.Kind.PASS_THROUGH, head(), new byte[0]), timeoutMillis, relay);
        exchange.eventLoop()
                .schedule(
                        () -> exchange.cancel(FailureReason.TIMEOUT, "no answer within " + timeoutMillis + " ms"),
                        timeoutMillis,
                        TimeUnit.MILLISECONDS);
        return exchange.answer().whenComplete(this::report);
    }

    private Http2Headers head() {
        return new FlatHeaders()
                .method(HttpMethod.POST.asciiName())
                .path(path)
                .add(REASON, reason.name())
                .add(GRACE_MILLIS, Long.toString(grace.toMillis()));
    }

    private void report(@Nullable Message answer, @Nullable Throwable failure) {
        int status = answer == null ? NO_STATUS : StatusCode.parse(answer.head().status());
        if (StatusCode.isSuccess(status)) {
            log.info("notified the app at {} that the worker is draining: {}", path, PrintableText.of(reason));
        } else {
            log.warn(
                    "the app could not be notified at {} that the worker is draining: {}",
                    path,
                    failure == null ? "status " + status : PrintableText.startOf(String.valueOf(failure.getMessage())));
        }
    }

    /** Returns whether a client's request has the header that only the worker may send. */
    static boolean isClaimedBy(Http2Headers head) {
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            if (HeaderSyntax.passesFor(field.getKey(), REASON)) {
                return true;
            }
        }
        return false;
    }
}
