package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.FairQueue.Ticket;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Priority;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * What decides when a request gets a worker stream, and which one: its place in the queue, the
 * share of its client, its session and its priority. Each is looked up when it is needed first.
 * Serves one request after the other, as its exchange does. Client's event loop only.
 */
public final class QueuePlace {
    private final Exchange exchange;
    private final ExchangeOwner owner;

    private @Nullable Ticket<Exchange> ticket;
    private @Nullable ClientShare share;

    /** The share that counts the request while it may hold up its worker stream. */
    private @Nullable ClientShare heldFrom;

    /** How much more often {@link #observe} found it waiting for the client than for the worker. */
    private int heldUp;

    private @Nullable ClientSession session;
    private @Nullable Priority priority;

    /** {@code null} if no limit of concurrency applies. */
    private RequestAdmission.@Nullable Place bulkhead;

    /** Whether the request counts in the demand for workers. */
    private boolean counted;

    QueuePlace(Exchange exchange, ExchangeOwner owner) {
        this.exchange = exchange;
        this.owner = owner;
    }

    void reset() {
        ticket = null;
        share = null;
        heldFrom = null;
        heldUp = 0;
        session = null;
        priority = null;
        bulkhead = null;
        counted = false;
    }

    /**
     * Returns the current or the last place in the queue; {@code null} if the request was never
     * queued.
     */
    public @Nullable Ticket<Exchange> ticket() {
        return ticket;
    }

    void setTicket(@Nullable Ticket<Exchange> value) {
        ticket = value;
    }

    /** Returns true once, when the request counts as arrived in the demand for workers. */
    public boolean countsAsArrived() {
        boolean first = !counted;
        counted = true;
        return first;
    }

    /** Sets the session that chooses the request's worker. Called before the first attempt. */
    public void setSession(@Nullable ClientSession value) {
        session = value;
    }

    /** Returns the session that chooses the request's worker; {@code null} = any worker. */
    public @Nullable ClientSession session() {
        return session;
    }

    /** Adds the worker to the response, if the client must remember it for its session. */
    void mark(Http2Headers response, @Nullable String workerId) {
        if (session != null && workerId != null) {
            session.mark(response, workerId);
        }
    }

    /** Returns which worker the session has chosen; {@code null} = none. */
    @Nullable
    SessionResult sessionResult() {
        return session == null ? null : session.result();
    }

    /** Returns the priority; {@code null} if the policy has no priorities. */
    public @Nullable Priority priority() {
        AdmissionPolicy admission = exchange.policy().admission();
        if (priority == null && admission.hasPriorities()) {
            priority = RequestAdmission.priorityOf(exchange.headers(), admission);
        }
        return priority;
    }

    /** Holds a place in a bulkhead until the end. */
    void enter(RequestAdmission.Place entered) {
        bulkhead = entered;
    }

    void leaveBulkhead() {
        if (bulkhead != null) {
            bulkhead.leave();
            bulkhead = null;
        }
    }

    // The client's share.

    /** Returns the client's share of the function. {@link #releaseShare} must follow at the end. */
    public ClientShare share(ClientShares shares) {
        ClientShare own = share;
        if (own == null) {
            own = shares.acquire(exchange.client());
            share = own;
        }
        return own;
    }

    /** Releases the share at the end. Has no effect if {@link #share} was not called. */
    public void releaseShare(ClientShares shares) {
        if (share != null) {
            shares.release(share);
            share = null;
        }
    }

    /**
     * Holds a place in a share until {@link #release}. It must hold none.
     *
     * @return false if {@code limit} places of the share are held
     */
    public boolean hold(ClientShare from, int limit) {
        boolean held = from.tryHold(limit);
        heldFrom = held ? from : null;
        return held;
    }

    public boolean holds() {
        return heldFrom != null;
    }

    /** Holds a place in the share of its client, and in no other, whatever the limit. */
    public void holdAlways(ClientShare client) {
        if (heldFrom != client) {
            release();
            hold(client, Integer.MAX_VALUE);
        }
    }

    /** @return false if it held no place */
    public boolean release() {
        ClientShare from = heldFrom;
        if (from == null) {
            return false;
        }
        heldFrom = null;
        from.release();
        return true;
    }

    /**
     * Releases the place, because the client no longer holds up the worker stream, or may do so.
     * Requests of a client that has lost streams keep their places until they end.
     */
    public void releaseUnlessPreempted() {
        if (heldFrom != null && (share == null || !share.isPreempted(owner.nanoTime()))) {
            release();
        }
    }

    /**
     * Releases the place if the share has more than {@code limit}.
     *
     * @return false if it holds no place, or continues to hold it
     */
    public boolean releaseAbove(int limit) {
        boolean released = heldFrom != null && heldFrom.tryRelease(limit);
        heldFrom = released ? null : heldFrom;
        return released;
    }

    /**
     * Counts whether the exchange waits for its client or for its worker now. Data that is sent as
     * soon as it arrives, as events of a stream are, does not add up to a slow client, and data
     * that trickles does not hide one.
     *
     * @param max maximum of the result
     * @return how much more often it was found waiting for its client; at least 0
     */
    public int observe(int max) {
        heldUp = exchange.isHeldUp() ? Math.min(heldUp + 1, max) : Math.max(heldUp - 1, 0);
        if (heldUp == 0 && !exchange.awaitsBody()) {
            releaseUnlessPreempted();
        }
        return heldUp;
    }

    /** Returns whether {@link #observe} found it waiting for its client more often than not. */
    public boolean wasHeldUp() {
        return heldUp > 0;
    }
}
