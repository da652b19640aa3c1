package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.CacheRequest;
import io.lambdadispatcher.core.internal.policy.CacheRules;
import io.lambdadispatcher.core.internal.policy.CacheRules.Fit;
import io.lambdadispatcher.core.internal.policy.StoredResponse;
import io.lambdadispatcher.core.internal.policy.StoredResponse.Terms;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.Date;
import org.jspecify.annotations.Nullable;

/**
 * A request that a filter sends to the function, and its response, which is stored if it may be.
 * Confined to the event loop of the client, or of the client whose request caused a renewal.
 *
 * <p><b>Buffers.</b> The client gets the function's buffers. The store gets a copy on the heap: a
 * slice would keep a large buffer of the worker's connection alive. Bytes that are copied count as
 * taken immediately. So a slow client neither occupies the worker nor delays the requests that
 * wait, and at most the largest stored body waits for it, in the account of its connection.
 */
final class FetchedResponse implements RequestSink, ResponseSink {
    private enum State {
        /** The client gets the response. */
        PASSING,
        /** There is no client, because it has disconnected or this is a renewal. */
        UNWATCHED,
        /** The client has a stale response, and this one is discarded. */
        REPLACED,
        ENDED
    }

    private static final byte[] NO_BYTES = {};
    private static final int FIRST_BYTES = 4096;

    private final CacheFilter filter;
    private final CacheRequest request;
    private final @Nullable ResponseSink client;
    private final Object clientKey;
    private final @Nullable StoredResponse stale;
    private final int generation;
    private final long sentNanos;

    private State state;
    private @Nullable RequestSink target;

    /** {@code null} = no other request waits for this one. */
    private @Nullable Flight flight;

    private String flightKey = "";

    private boolean responding;
    private int status;

    // What is stored; null terms = nothing.
    private @Nullable Terms terms;
    private long declaredBytes = ContentLength.UNKNOWN;
    private Http2Headers head = new FlatHeaders();
    private byte[] body = NO_BYTES;
    private int bodyBytes;

    /** Bytes that were reported as taken, and that the client reports again. */
    private long takenEarly;

    /** Bytes that the client has, or that wait for it, and that are not taken. */
    private long untaken;

    /** Bytes that were taken before {@link #target} was known. */
    private int owed;

    /** @param stale replaces an error; {@code null} = none */
    FetchedResponse(CacheFilter filter, CacheRequest request, ResponseSink client, @Nullable StoredResponse stale) {
        this(filter, request, client, ResponseSink.EMBEDDER, stale);
    }

    private FetchedResponse(
            CacheFilter filter,
            CacheRequest request,
            @Nullable ResponseSink client,
            Object clientKey,
            @Nullable StoredResponse stale) {
        this.filter = filter;
        this.request = request;
        this.client = client;
        this.clientKey = clientKey;
        this.stale = stale;
        state = client == null ? State.UNWATCHED : State.PASSING;
        generation = filter.store().generation(request.key());
        sentNanos = filter.store().nanoTime();
    }

    /**
     * Creates a renewal.
     *
     * @param clientKey key of the client that caused it. The renewal counts in the limits of this
     *     client. If all renewals counted together, a few of them would use up the limit for all
     */
    static FetchedResponse renewal(CacheFilter filter, CacheRequest request, Object clientKey, StoredResponse stale) {
        return new FetchedResponse(filter, request, null, clientKey, stale);
    }

    void leads(Flight value, String key) {
        flight = value;
        flightKey = key;
    }

    RequestSink open(FunctionOpener next, Http2Headers requestHead, TrafficPolicy policy) {
        RequestSink opened = next.open(requestHead, true, this, policy);
        target = opened;
        if (owed > 0) {
            int bytes = owed;
            owed = 0;
            opened.responseTaken(bytes);
        }
        return this;
    }

    private void take(int bytes) {
        if (target == null) {
            owed += bytes;
        } else if (bytes > 0) {
            target.responseTaken(bytes);
        }
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        data.release();
    }

    @Override
    public void trailers(Http2Headers trailers) {}

    @Override
    public void cancel(ErrorCode code) {
        if (state != State.PASSING && state != State.REPLACED) {
            return;
        }
        if (flight == null || flight.landIfEmpty()) {
            state = State.ENDED;
            terms = null;
            land(null);
            if (target != null) {
                target.cancel(code);
            }
            return;
        }
        state = State.UNWATCHED;
        int left = (int) untaken;
        untaken = 0;
        take(left);
    }

    @Override
    public void responseTaken(int bytes) {
        long again = Math.min(takenEarly, bytes);
        takenEarly -= again;
        int first = (int) Math.min(bytes - again, untaken);
        untaken -= first;
        take(first);
    }

    @Override
    public long heldBytes() {
        return body.length + (target == null ? 0 : target.heldBytes());
    }

    // From the function.

    @Override
    public Object client(Http2Headers requestHead) {
        return client == null ? clientKey : client.client(requestHead);
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return client == null ? null : client.remoteAddress();
    }

    @Override
    public ClientProtocol protocol() {
        return client == null ? ClientProtocol.EMBEDDED : client.protocol();
    }

    @Override
    public boolean isDoneWithHead() {
        return client == null || client.isDoneWithHead();
    }

    @Override
    public @Nullable Substitute substitute(int ended, @Nullable Failure failure) {
        if (state == State.REPLACED || failure != null && isReplaced(failure)) {
            return Substitute.STALE;
        }
        return client == null ? null : client.substitute(ended, failure);
    }

    @Override
    public @Nullable String contentEncoding() {
        return client == null ? null : client.contentEncoding();
    }

    @Override
    public void onSent() {
        if (client != null && state == State.PASSING) {
            client.onSent();
        }
    }

    @Override
    public void onInterim(Http2Headers interim) {
        if (state == State.PASSING && client != null) {
            client.onInterim(interim);
        }
    }

    @Override
    public void onHead(Http2Headers responseHead, boolean end) {
        if (state == State.ENDED) {
            return;
        }
        responding = true;
        status = StatusCode.parse(responseHead.status());
        if (CacheFilter.isError(status) && stale != null && isUseful(stale)) {
            if (state == State.PASSING) {
                replace(stale);
            } else {
                land(stale);
            }
            endIf(end);
            return;
        }
        store(responseHead);
        if (terms == null) {
            if (flight != null) {
                filter.store().setUnshared(flightKey);
            }
            land(null);
            if (!end) {
                cancelIfUseless();
            }
        }
        if (state == State.PASSING && client != null) {
            CacheFilter.addForwarded(responseHead, stale != null, terms != null);
            client.onHead(responseHead, end);
        }
        endIf(end);
    }

    private void store(Http2Headers responseHead) {
        ResponseStore store = filter.store();
        int limit = request.policy().cache().maxBodyBytes();
        terms = CacheRules.terms(request, status, responseHead, sentNanos, store.nanoTime(), store.currentTimeMillis());
        CharSequence declared = responseHead.get(HttpHeaderNames.CONTENT_LENGTH);
        long length = declared == null ? ContentLength.UNKNOWN : ContentLength.parse(declared.toString());
        declaredBytes = length;
        if (terms == null || length > limit) {
            terms = null;
            return;
        }
        head = new FlatHeaders().add(responseHead);
        HopByHop.removeFromResponse(head);
        head.remove(HttpHeaderNames.AGE);
        if (!head.contains(HttpHeaderNames.DATE)) {
            // Its age counts from here, so no later date may appear.
            head.add(HttpHeaderNames.DATE, DateFormatter.format(new Date(store.currentTimeMillis())));
        }
        body = length > 0 ? new byte[(int) length] : NO_BYTES;
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        boolean stored = copy(data);
        if (state == State.PASSING && client != null) {
            if (stored) {
                takenEarly += bytes;
                take(bytes);
            } else {
                untaken += bytes;
            }
            client.onData(data, end);
        } else {
            data.release();
            take(bytes);
        }
        if (!end) {
            cancelIfUseless();
        }
        endIf(end);
    }

    /** Cancels the request if no client, no other request and not the store needs its response. */
    private void cancelIfUseless() {
        if (state == State.UNWATCHED && flight == null && terms == null && target != null) {
            state = State.ENDED;
            target.cancel(ErrorCode.CANCELLED);
        }
    }

    /** @return whether the data is stored */
    private boolean copy(ByteBuf data) {
        if (terms == null) {
            return false;
        }
        int bytes = data.readableBytes();
        int limit = request.policy().cache().maxBodyBytes();
        if (bytes > limit - bodyBytes) {
            dropCopy();
            return false;
        }
        if (bodyBytes + bytes > body.length) {
            long more = Math.max(bodyBytes + bytes, Math.max(FIRST_BYTES, 2L * body.length));
            body = Arrays.copyOf(body, (int) Math.min(limit, more));
        }
        data.getBytes(data.readerIndex(), body, bodyBytes, bytes);
        bodyBytes += bytes;
        return true;
    }

    private void dropCopy() {
        terms = null;
        body = NO_BYTES;
        if (flight != null) {
            filter.store().setUnshared(flightKey);
            land(null);
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        dropCopy();
        if (state == State.PASSING && client != null) {
            client.onTrailers(trailers);
        }
        state = State.ENDED;
    }

    @Override
    public void onFailure(Failure failure) {
        terms = null;
        body = NO_BYTES;
        State before = state;
        if (before == State.PASSING && isReplaced(failure) && stale != null) {
            replace(stale);
        } else {
            land(CacheFilter.isError(failure.kind().status().code()) ? stale : null);
            if (before == State.PASSING && client != null) {
                client.onFailure(failure);
            }
        }
        state = State.ENDED;
    }

    /** A request can take longer than a stale response is of use. */
    private boolean isUseful(StoredResponse response) {
        return CacheRules.fit(response.terms(), request, filter.store().nanoTime()) != Fit.NONE;
    }

    private boolean isReplaced(Failure failure) {
        return state == State.PASSING
                && !responding
                && stale != null
                && isUseful(stale)
                && CacheFilter.isError(failure.kind().status().code());
    }

    /** Answers the client with the stale response. The function's is discarded. */
    private void replace(StoredResponse response) {
        state = State.REPLACED;
        land(response);
        if (client != null) {
            long now = filter.store().nanoTime();
            filter.send(response, now, request, client, () -> state != State.REPLACED, Substitute.STALE);
        }
    }

    @Override
    public void onRequestTaken(int bytes) {}

    private void endIf(boolean end) {
        if (!end) {
            return;
        }
        if (terms != null && (declaredBytes < 0 || declaredBytes == bodyBytes)) {
            byte[] exact = bodyBytes == body.length ? body : Arrays.copyOf(body, bodyBytes);
            StoredResponse response = new StoredResponse(terms, status, head, exact);
            boolean valid = filter.store().put(request.key(), response, generation);
            land(valid ? response : null);
        }
        land(null);
        terms = null;
        body = NO_BYTES;
        if (state != State.REPLACED) {
            state = State.ENDED;
        }
    }

    private void land(@Nullable StoredResponse response) {
        Flight own = flight;
        if (own != null) {
            flight = null;
            filter.store().leave(flightKey, own);
            own.land(response, response != null && response == stale);
        }
    }
}
