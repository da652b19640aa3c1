package io.lambdadispatcher.cache;

import io.lambdadispatcher.cache.StoredResponse.Terms;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.DateFormatter;
import java.util.Arrays;
import java.util.Date;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The response to a request that the cache has passed on, which is stored if it may be. Confined to
 * the event loop of the client, or of the client whose request caused a renewal.
 *
 * <p><b>Buffers.</b> The client gets the function's buffers. The store gets a copy on the heap: a
 * slice would keep a large buffer of the worker's connection alive. Bytes that are copied count as
 * taken immediately. So a slow client neither occupies the worker nor delays the requests that
 * wait, and at most the largest stored body waits for it, in the account of its connection.
 */
final class FetchedResponse implements ResponseFilter {
    private static final byte[] NO_BYTES = {};
    private static final int FIRST_BYTES = 4096;

    private final HttpCache cache;
    private final CacheRequest request;
    private final boolean wasStale;
    private final String flightKey;
    private final int generation;
    private final long sentNanos;

    private boolean renewal;

    /** Whether there is no client, because it has left or this is a renewal. */
    private boolean unwatched;

    /** {@code null} = no other request waits for this one. */
    private @Nullable Flight flight;

    private boolean responding;
    private int status;

    // What is stored; null terms = nothing.
    private @Nullable Terms terms;
    private long declaredBytes = ContentLength.UNKNOWN;
    private HeaderFields head;
    private byte[] body = NO_BYTES;
    private int bodyBytes;

    /**
     * @param wasStale whether a stale response was stored when the request began
     * @param flightKey what identical requests have in common; empty = this one is like no other
     * @param flight {@code null} = no other request waits for this one
     */
    FetchedResponse(
            HttpCache cache, CacheRequest request, boolean wasStale, String flightKey, @Nullable Flight flight) {
        this.cache = cache;
        this.request = request;
        this.wasStale = wasStale;
        this.flightKey = flightKey;
        this.flight = flight;
        head = request.headers();
        generation = cache.store().generation(request.key());
        sentNanos = cache.store().nanoTime();
    }

    /** This is a renewal. */
    void setRenewal() {
        renewal = true;
        unwatched = true;
    }

    /** Returns whether another request or the store needs the response. */
    @Override
    public boolean outlivesClient() {
        if (unwatched) {
            return flight != null || terms != null;
        }
        unwatched = flight != null && !flight.landIfUnwanted();
        return unwatched;
    }

    @Override
    public Decision.@Nullable Answer replace(int its, @Nullable String failure) {
        Decision.Answer answer = HttpCache.isError(its) ? cache.insteadOfError(request) : null;
        if (answer != null) {
            landFailed(true);
        }
        return answer;
    }

    @Override
    public void onHead(int its, HeaderFields headers) {
        responding = true;
        status = its;
        store(headers);
        if (terms == null) {
            landUnshared();
        }
        HttpCache.addForwarded(headers, wasStale, terms != null);
    }

    private void store(HeaderFields headers) {
        ResponseStore store = cache.store();
        int limit = request.policy().maxBodyBytes();
        terms = CacheRules.terms(request, status, headers, sentNanos, store.nanoTime(), store.currentTimeMillis());
        String declared = headers.get("content-length");
        long length = declared == null ? ContentLength.UNKNOWN : ContentLength.parse(declared);
        declaredBytes = length;
        if (terms == null || length > limit) {
            terms = null;
            return;
        }
        head = headers.copy();
        removeHopByHop(head);
        head.remove("age");
        if (StatusCode.isBodyless(status)) {
            head.remove("content-length");
        }
        if (!head.contains("date")) {
            // Its age counts from here, so no later date may appear.
            head.add("date", DateFormatter.format(new Date(store.currentTimeMillis())));
        }
        body = length > 0 ? new byte[(int) length] : NO_BYTES;
    }

    private static void removeHopByHop(HeaderFields head) {
        Set<String> dropped = new HashSet<>();
        head.forEachName(name -> {
            if (HopByHop.isDroppedFromResponse(name)) {
                dropped.add(name);
            }
        });
        HopByHop.nominated(head.bytes().getAll("connection")).stream()
                .filter(head::contains)
                .forEach(dropped::add);
        dropped.forEach(head::remove);
    }

    @Override
    public boolean isPaced() {
        return terms == null;
    }

    @Override
    public long heldBytes() {
        return body.length;
    }

    @Override
    public ByteBuf onData(ByteBuf data) {
        int bytes = data.readableBytes();
        int limit = request.policy().maxBodyBytes();
        if (terms == null) {
            return data;
        }
        if (bytes > limit - bodyBytes) {
            dropCopy();
            return data;
        }
        if (bodyBytes + bytes > body.length) {
            long more = Math.max(bodyBytes + bytes, Math.max(FIRST_BYTES, 2L * body.length));
            body = Arrays.copyOf(body, (int) Math.min(limit, more));
        }
        data.getBytes(data.readerIndex(), body, bodyBytes, bytes);
        bodyBytes += bytes;
        return data;
    }

    private void dropCopy() {
        forget();
        landUnshared();
    }

    /** Nobody else gets the response, whether or not somebody waits for it. */
    private void landUnshared() {
        if (!flightKey.isEmpty()) {
            cache.store().setUnshared(flightKey);
        }
        land(null, false);
    }

    private void forget() {
        terms = null;
        body = NO_BYTES;
    }

    @Override
    public void onTrailers(HeaderFields trailers) {
        dropCopy();
    }

    @Override
    public void onEnd(@Nullable String failure) {
        if (failure != null) {
            // A response that is cut off is an error, too.
            landFailed(responding && !failure.equals("cancelled"));
        } else if (terms != null && (declaredBytes < 0 || declaredBytes == bodyBytes)) {
            byte[] exact = bodyBytes == body.length ? body : Arrays.copyOf(body, bodyBytes);
            StoredResponse response = new StoredResponse(terms, status, head, exact);
            boolean valid = cache.store().put(request, response, generation);
            land(valid ? response : null, false);
        }
        landFailed(false);
        forget();
    }

    /**
     * There is no response, or not all of it. A renewal is not repeated at once: the stale response
     * can answer, and each attempt would be one more request to a function that fails.
     */
    private void landFailed(boolean error) {
        if (renewal && flight != null) {
            cache.store().setUnshared(flightKey);
        }
        land(null, error);
    }

    private void land(@Nullable StoredResponse response, boolean error) {
        Flight own = flight;
        if (own != null) {
            flight = null;
            cache.store().leave(flightKey, own);
            own.land(response, error);
        }
    }
}
