package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.CanarySteps;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Passes a response on unchanged, and counts it for a canary. Responses that clients do not wait
 * for are not counted. Confined to the client's event loop.
 */
final class WatchedResponse implements ResponseSink {
    private static final int SERVER_ERROR = 500;

    private final CanarySteps steps;
    private final CanarySteps.Step step;
    private final boolean ofCanary;
    private final Ticker ticker;
    private final ResponseSink response;
    private final long startNanos;
    private boolean counted;

    WatchedResponse(CanarySteps steps, CanarySteps.Step step, boolean ofCanary, Ticker ticker, ResponseSink response) {
        this.steps = steps;
        this.step = step;
        this.ofCanary = ofCanary;
        this.ticker = ticker;
        this.response = response;
        this.startNanos = ticker.nanoTime();
    }

    private void count(int status) {
        counted = true;
        long now = ticker.nanoTime();
        steps.onResponse(step, ofCanary, status >= SERVER_ERROR, now - startNanos, now);
    }

    @Override
    public void onHead(Http2Headers fields, boolean end) {
        count(StatusCode.parse(fields.status()));
        response.onHead(fields, end);
    }

    @Override
    public void onFailure(Failure failure) {
        int status = failure.kind().status().code();
        if (counted) {
            steps.onCutOff(step, ofCanary, ticker.nanoTime());
        } else if (status >= SERVER_ERROR && failure.kind() != Failure.Kind.ONLY_IF_CACHED) {
            // What the client has asked for, or a limit that it exceeds, is no fault of a side.
            count(status);
        }
        response.onFailure(failure);
    }

    @Override
    public Object client(Http2Headers head) {
        return response.client(head);
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
    public @Nullable Exchange takeEndedExchange() {
        return response.takeEndedExchange();
    }

    @Override
    public @Nullable Substitute substitute(int status, @Nullable Failure failure) {
        return response.substitute(status, failure);
    }

    @Override
    public void onSent() {
        response.onSent();
    }

    @Override
    public @Nullable ContentEncoding contentEncoding() {
        return response.contentEncoding();
    }

    @Override
    public void onInterim(Http2Headers head) {
        response.onInterim(head);
    }

    @Override
    public boolean isDoneWithHead() {
        return response.isDoneWithHead();
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        response.onData(data, end);
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        response.onTrailers(trailers);
    }

    @Override
    public void onRequestTaken(int bytes) {
        response.onRequestTaken(bytes);
    }
}
