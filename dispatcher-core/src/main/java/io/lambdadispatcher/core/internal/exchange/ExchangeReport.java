package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.observe.WaitReason;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.invoke.VarHandle;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * What an observer is told of one request: plain data, which decides nothing. Whoever serves the
 * request notes what happens, and {@link #passOn} passes it all on, if the observer follows the
 * request. Then it can serve the next request. Confined to the client's event loop.
 */
public final class ExchangeReport extends AttemptsReport implements ExchangeStart, Cloneable {

    private final @Nullable String function;

    private Http2Headers headers = EmptyHttp2Headers.INSTANCE;
    private @Nullable SocketAddress remoteAddress;
    private ClientProtocol protocol = ClientProtocol.EMBEDDED;
    private @Nullable WaitReason waitReason;
    private @Nullable SessionResult sessionResult;

    /** 0 if no response has begun. */
    private int status;

    private boolean tunnel;
    private @Nullable String contentEncoding;
    private Outcome outcome = Outcome.COMPLETED;
    private @Nullable Failure failure;
    private @Nullable Substitute substitute;
    private long requestBytes;
    private long responseBytes;
    private long queueNanos;
    private long firstByteNanos = -1;
    private long totalNanos;

    /** @param function {@code null} = the request has none */
    public ExchangeReport(@Nullable String function) {
        this.function = function;
    }

    /** Another request begins. What is set at its start or end in any case may stay until then. */
    @Override
    void reset() {
        super.reset();
        waitReason = null;
        status = 0;
        tunnel = false;
        failure = null;
        responseBytes = 0;
        firstByteNanos = -1;
    }

    /** Tells the observer that the request has started. {@link #onEnd} must follow. */
    void announceTo(DispatcherObserver observer, Http2Headers head, ResponseSink client) {
        headers = head;
        onClient(client);
        listener = observer.onExchangeStart(this);
    }

    private void onClient(ResponseSink client) {
        Requester requester = client.requester();
        remoteAddress = requester.remoteAddress();
        protocol = requester.protocol();
    }

    boolean isFollowed() {
        return listener != null;
    }

    void onWaiting(WaitReason reason) {
        waitReason = reason;
    }

    /** The response has begun, this long after the request arrived; -1 = it is no worker's. */
    void onHead(int code, long nanos, boolean opensTunnel) {
        status = code;
        firstByteNanos = nanos;
        tunnel = opensTunnel;
    }

    void onData(long bytes) {
        responseBytes += bytes;
    }

    /** Takes the request as it was at the end, and which worker its session has chosen. */
    void onRequest(Http2Headers head, long bytes, @Nullable SessionResult session) {
        headers = head;
        requestBytes = bytes;
        sessionResult = session;
    }

    /** Takes the times from the request's arrival until it was sent first, and until the end. */
    void onTimes(long sentNanos, long endNanos) {
        queueNanos = sentNanos;
        totalNanos = endNanos;
    }

    /** A filter has encoded the response for the client; {@code null} = the client has another. */
    public void setContentEncoding(@Nullable String encoding) {
        contentEncoding = encoding;
    }

    /** @param instead what the client gets in place of this end; {@code null} = nothing else */
    public void setSubstitute(@Nullable Substitute instead) {
        substitute = instead;
        if (instead != null && outcome == Outcome.CANCELLED) {
            outcome = Outcome.COMPLETED; // The client has not left. It got something else.
        }
    }

    /**
     * A filter has failed in the response, which is not the function's fault.
     *
     * @param begun whether the client has the headers of the response
     */
    public void onFilterFailed(Failure why, boolean begun) {
        outcome = Outcome.FAILED;
        failure = why;
        substitute = null;
        if (!begun) {
            status = 0;
            tunnel = false;
            contentEncoding = null;
        }
    }

    /** Notes the end, and what stages in front know of it. {@link #passOn} follows. */
    void onEnd(Outcome how, @Nullable Failure why, @Nullable Substitute by, ResponseSink client) {
        outcome = how;
        failure = why;
        substitute = by;
        contentEncoding = null;
        onClient(client);
        client.complete(this, why);
    }

    /** Passes the report on, if the observer follows the request. */
    void passOn() {
        try {
            if (listener != null) {
                listener.onEnd(this);
            }
        } catch (Throwable e) {
            failures.warn("the observer threw an exception at the end of {} {}", method(), path(), e);
        }
    }

    @Override
    public @Nullable String function() {
        return function;
    }

    @Override
    public Http2Headers headers() {
        return headers;
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return remoteAddress;
    }

    @Override
    public ClientProtocol protocol() {
        return protocol;
    }

    @Override
    public int status() {
        return failure != null && status == 0 ? failure.kind().status().code() : status;
    }

    @Override
    public Outcome outcome() {
        return outcome;
    }

    @Override
    public @Nullable String failure() {
        return failure == null ? null : failure.kind().token();
    }

    @Override
    public @Nullable String failureDetail() {
        return failure == null ? null : failure.detail();
    }

    @Override
    public @Nullable WaitReason waitReason() {
        return waitReason;
    }

    @Override
    public @Nullable SessionResult sessionResult() {
        return sessionResult;
    }

    @Override
    public @Nullable Substitute substitute() {
        return substitute;
    }

    @Override
    public @Nullable String contentEncoding() {
        return contentEncoding;
    }

    @Override
    public long requestBytes() {
        return requestBytes;
    }

    @Override
    public long responseBytes() {
        return responseBytes;
    }

    @Override
    public long queueNanos() {
        return queueNanos;
    }

    @Override
    public long firstByteNanos() {
        return firstByteNanos;
    }

    @Override
    public long totalNanos() {
        return totalNanos;
    }

    @Override
    public boolean isTunnel() {
        return tunnel;
    }

    @Override
    public ExchangeEnd copy() {
        // Only a copy has no listener.
        if (listener == null) {
            return this;
        }
        try {
            ExchangeReport copy = (ExchangeReport) clone();
            copy.listener = null;
            // As for final fields: a thread that gets the copy through a data race sees them, too.
            VarHandle.storeStoreFence();
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
