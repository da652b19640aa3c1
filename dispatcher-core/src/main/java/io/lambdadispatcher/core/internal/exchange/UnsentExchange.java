package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.Substitute;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A request that is sent to no function: it is refused, or answered without one. The observer is
 * told of its start and its end together, after any time for which it has waited.
 */
public record UnsentExchange(@Nullable String function, Http2Headers headers, ResponseSink response) {
    /** Reports that the request is refused on arrival. */
    public void reportFailed(DispatcherObserver observer, Failure failure) {
        reportFailed(observer, failure, 0);
    }

    /** Reports that the request is refused, this long after it arrived. */
    public void reportFailed(DispatcherObserver observer, Failure failure, long waitedNanos) {
        report(observer, 0, Outcome.FAILED, failure, null, 0, waitedNanos);
    }

    /**
     * Reports that the request is answered.
     *
     * @param bytes size of the response's body
     * @param waitedNanos time since the request arrived
     */
    public void reportAnswered(
            DispatcherObserver observer, int status, Substitute substitute, long bytes, long waitedNanos) {
        report(observer, status, Outcome.COMPLETED, null, substitute, bytes, waitedNanos);
    }

    /** Reports that the client has gone, this long after the request arrived. */
    public void reportCancelled(DispatcherObserver observer, long waitedNanos) {
        report(observer, 0, Outcome.CANCELLED, null, null, 0, waitedNanos);
    }

    private void report(
            DispatcherObserver observer,
            int status,
            Outcome outcome,
            @Nullable Failure failure,
            @Nullable Substitute substitute,
            long bytes,
            long waitedNanos) {
        ExchangeReport report = new ExchangeReport(function);
        report.announceTo(observer, headers, response);
        if (report.isFollowed()) {
            report.onHead(status, -1, false);
            report.onData(bytes);
            report.onTimes(waitedNanos, waitedNanos);
            report.onEnd(outcome, failure, substitute, response);
            report.passOn();
        }
    }
}
