package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.internal.exchange.EventExchange;
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
 * Tells the application that the worker begins to drain, for only the application knows how its
 * long streams say goodbye: one POST without a body. Any thread.
 *
 * <p>Failure: a line in the log.
 *
 * @param path of the application's
 * @param grace for which what is in flight may go on
 */
record DrainNotice(String path, DrainReason reason, Duration grace) {
    static final AsciiString REASON = AsciiString.cached("lambda-dispatcher-drain-reason");
    static final AsciiString GRACE_MILLIS = AsciiString.cached("lambda-dispatcher-drain-grace-millis");

    /**
     * The worker does not end before the application has answered, but must not be held up by one
     * that does not.
     */
    private static final long LONGEST_ANSWER_MILLIS = 5_000;

    private static final int NO_STATUS = 0;

    private static final Logger log = LoggerFactory.getLogger(DrainNotice.class);

    /**
     * @param relay to the application
     * @return completes with the answer, or when there will be none
     */
    CompletionStage<?> send(WebInvocations invocations, Upstream relay) {
        int timeoutMillis = (int) Math.max(1, Math.min(LONGEST_ANSWER_MILLIS, grace.toMillis()));
        EventExchange exchange =
                invocations.start(new WebEvent(WebEvent.Kind.PASS_THROUGH, head(), new byte[0]), timeoutMillis, relay);
        exchange.eventLoop()
                .schedule(() -> exchange.cancel(FailureReason.TIMEOUT), timeoutMillis, TimeUnit.MILLISECONDS);
        return exchange.answer().whenComplete(this::report);
    }

    private Http2Headers head() {
        return new FlatHeaders()
                .method(HttpMethod.POST.asciiName())
                .path(path)
                .add(REASON, reason.name())
                .add(GRACE_MILLIS, Long.toString(grace.toMillis()));
    }

    private void report(EventExchange.@Nullable Answer answer, @Nullable Throwable failure) {
        int status = answer == null ? NO_STATUS : StatusCode.parse(answer.head().status());
        if (StatusCode.isSuccess(status)) {
            log.info("notified the app at {} that the worker is draining: {}", path, reason);
        } else {
            log.warn(
                    "the app could not be notified at {} that the worker is draining: {}",
                    path,
                    failure == null ? "status " + status : failure.getMessage());
        }
    }

    /** A client claims to be the worker. */
    static boolean isClaimedBy(Http2Headers head) {
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            if (HeaderSyntax.passesFor(field.getKey(), REASON)) {
                return true;
            }
        }
        return false;
    }
}
