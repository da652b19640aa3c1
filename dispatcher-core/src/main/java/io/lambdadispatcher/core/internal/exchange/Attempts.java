package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.internal.policy.RetryRule;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The tries of one request: which are in flight, and whether there is another. By its policy, they
 * follow each other, or a slow one continues while the next begins. The first response is the
 * client's, unless it is one that the policy repeats. What no worker has begun is sent again in any
 * case. Serves one request after the other, as its exchange does. Client's event loop only.
 */
public final class Attempts {
    /** What is reported of a try that was given up for another. */
    private static final String ATTEMPT_TIMEOUT = "attempt_timeout";

    /** What is reported of a try if another one answered first. */
    private static final String LOST_RACE = "slower";

    private final Exchange exchange;
    private final ExchangeOwner owner;
    private final RequestHead head;
    private final Replay body;
    private final ExchangeReport report;
    private final Try first;

    /** The one that begins next; {@code null} = it is not known yet. */
    private @Nullable Try upcoming;

    /**
     * The oldest in flight, with the younger ones behind it. If none is, the last one;
     * {@code null} if there was none.
     */
    private @Nullable Try current;

    private int count;

    /** Workers of tries that have failed or are slow. The next try avoids them. */
    private List<String> tried = List.of();

    /** Whether a handler of a try that has failed may have begun. */
    private boolean seen;

    private long firstNanos;

    /** When the last one began, or was denied. */
    private long lastNanos;

    Attempts(Exchange exchange, ExchangeOwner owner, RequestHead head, Replay body, ExchangeReport report) {
        this.exchange = exchange;
        this.owner = owner;
        this.head = head;
        this.body = body;
        this.report = report;
        this.first = new Try(exchange, this);
    }

    void reset() {
        upcoming = null;
        current = null;
        count = 0;
        tried = List.of();
        seen = false;
        firstNanos = 0;
        lastNanos = 0;
    }

    // How they begin.

    /** Returns the one that begins next, for a carrier that is made for it. */
    public Try upcoming() {
        Try its = upcoming;
        if (its == null) {
            its = current == null ? first : new Try(exchange, this);
            upcoming = its;
        }
        return its;
    }

    /**
     * Begins, while no other one is in flight. {@link #carry} follows.
     *
     * @return when the first one began
     */
    long begin(Carrier found, long nowNanos) {
        Try next = upcoming();
        upcoming = null;
        current = next;
        if (count == 0) {
            firstNanos = nowNanos;
        }
        begin(next, found, head.fields(), nowNanos);
        setTimer();
        report.onAttempt(count, next.head);
        return firstNanos;
    }

    private void begin(Try next, Carrier found, Http2Headers headers, long nowNanos) {
        next.begin(found, ++count, headers, nowNanos);
        lastNanos = nowNanos;
        ExchangeTimer timer = exchange.timer();
        if (timer != null) {
            timer.writeLeft(headers, nowNanos);
        }
    }

    /** Sends the request to the carrier of the try that has begun. */
    void carry(Carrier found) {
        if (current != null) {
            carry(current, found);
        }
    }

    private void carry(Try next, Carrier found) {
        long limitNanos = owner.workerTimeoutNanos();
        long leftNanos = limitNanos == 0 ? Long.MAX_VALUE : limitNanos - (next.startNanos - firstNanos);
        ExchangeTimer timer = exchange.timer();
        boolean byDeadline = false;
        if (timer != null && timer.hasDeadline()) {
            long untilDeadline = timer.leftNanos(next.startNanos);
            byDeadline = untilDeadline < leftNanos;
            leftNanos = Math.min(leftNanos, untilDeadline);
        }
        next.carry(found, head.isBodyless(), millis(leftNanos), byDeadline);
    }

    /** Returns a worker's timeout; 0 = no limit. */
    private static int millis(long nanos) {
        return nanos == Long.MAX_VALUE
                ? 0
                : (int) Math.max(1, Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMillis(nanos)));
    }

    /** The carrier of the only one has the request, which may have become complete meanwhile. */
    void onArrived(Try arrived) {
        if (arrived == current && exchange.isSent()) {
            setTimer();
        }
    }

    /** No worker stream was found on the other event loop, so it was no try. */
    void onStranded() {
        if (current != null) {
            current.end();
        }
        count--;
    }

    /** Sets when another one begins, once a handler has the complete request. */
    void setTimer() {
        ExchangeTimer timer = exchange.timer();
        AttemptPolicy rule = exchange.policy().attempts();
        if (timer == null
                || count >= rule.maxAttempts()
                || !rule.isTimed()
                || !body.isEnded()
                || !head.isIdempotent()
                || current == null
                || !current.isOfWorker()) {
            return;
        }
        timer.setNextTry(
                lastNanos,
                rule.overlaps() ? hedgeNanos(rule) : rule.perTryTimeout().toNanos());
    }

    /** @return 0 = never */
    private long hedgeNanos(AttemptPolicy rule) {
        if (head.asksForTunnel()) {
            return 0;
        }
        double quantile = rule.hedgeAfterQuantile();
        return quantile > 0
                ? owner.responseTimeNanos(quantile)
                : rule.hedgeAfter().toNanos();
    }

    /** The policy wants another one, because there is no response yet. */
    void onNextTryDue(ExchangeTimer timer, long nowNanos) {
        Try slow = current;
        // While it crosses over, there is nothing to cancel yet. The timer starts again on arrival.
        if (slow == null || slow.isCrossing()) {
            return;
        }
        if (exchange.policy().attempts().overlaps()) {
            startBeside(nowNanos);
        } else {
            owner.onResponseTime(timer.awaitedNanos(slow.startNanos, nowNanos));
            sendAgain(slow, RetryCondition.TIMEOUT, ExtraAttempt.TIMEOUT, ATTEMPT_TIMEOUT, ErrorCode.TIMEOUT);
        }
    }

    private void startBeside(long nowNanos) {
        ClientSession session = exchange.place().session();
        if (session != null && session.namesWorker()) {
            return;
        }
        RetryDenial denied = RetryRule.denial(exchange.policy().attempts(), count, head.isIdempotent(), isRepeatable());
        if (denied == null) {
            List<String> before = tried;
            for (Try each = current; each != null; each = each.next) {
                avoid(each.workerId());
            }
            lastNanos = nowNanos;
            denied = owner.start(new Try(exchange, this), tried);
            if (denied != null) {
                tried = before;
                // There may be a worker or a budget after the same time again.
                setTimer();
            }
        }
        if (denied != null) {
            report.onDenied(denied);
        }
    }

    /** A carrier was found for one that begins beside the others. */
    void beginBeside(Try next, Carrier found) {
        begin(next, found, head.copy(), lastNanos);
        seen = true;
        append(next);
        exchange.onOverlap();
        report.onHedge(count, next.head);
        carry(next, found);
        if (exchange.isSent()) {
            setTimer();
        }
    }

    private void append(Try youngest) {
        Try last = current;
        while (last != null && last.next != null) {
            last = last.next;
        }
        if (last != null) {
            last.next = youngest;
        }
    }

    /** Lets the next tries go to other workers if possible. {@code null} has no effect. */
    public void avoid(@Nullable String workerId) {
        if (workerId != null && !tried.contains(workerId)) {
            List<String> more = new ArrayList<>(tried);
            more.add(workerId);
            tried = List.copyOf(more);
        }
    }

    /** Returns the workers that the next try avoids if possible. */
    public List<String> tried() {
        return tried;
    }

    /** Allows all workers again, because there is no other. */
    public void avoidNoWorker() {
        tried = List.of();
    }

    // The body.

    /** Sends a part of the body, or holds it until the try has arrived on the other event loop. */
    void send(ByteBuf data, boolean end) {
        if (isCrossing()) {
            body.hold(data);
        } else {
            body.keep(data, keepsBody());
            sink().data(data, end);
        }
    }

    void send(Http2Headers trailers) {
        if (isCrossing()) {
            body.hold(trailers);
        } else {
            body.keep(trailers, keepsBody());
            sink().trailers(trailers);
        }
    }

    /** Sends one try what has arrived of the body. */
    void sendBody(Try to) {
        if (body.hasParts()) {
            body.send(to, keepsBody());
        }
    }

    /** Returns whether a part that is sent now is kept, if it is the first. */
    private boolean keepsBody() {
        return !body.hasBegun() && exchange.isSent() && (head.isIdempotent() || owner.mayBeBusy());
    }

    /** Returns whether another worker could get the complete request. */
    private boolean isRepeatable() {
        return exchange.isSent() && body.isWhole();
    }

    boolean isCrossing() {
        return current != null && current.isCrossing();
    }

    private RequestSink sink() {
        if (current == null) {
            throw new IllegalStateException("the request was not sent");
        }
        return current.sink();
    }

    private @Nullable RequestSink lastSink() {
        return current == null ? null : current.sink;
    }

    /** The client has taken bytes of the response. Those of a direct call count after the end. */
    void responseTaken(int bytes) {
        RequestSink from = lastSink();
        if (from != null && exchange.isEnded()) {
            from.endedResponseTaken(bytes);
        } else if (from != null) {
            from.responseTaken(bytes);
        }
    }

    long heldBytes() {
        RequestSink from = lastSink();
        return from == null ? 0 : from.heldBytes();
    }

    // How they end. Each of these decides what follows a try.

    /** A response has begun, which is the client's or is repeated. */
    void onHead(Try of, Http2Headers responseHead, boolean end) {
        int status = StatusCode.parse(responseHead.status());
        RetryCondition condition = RetryRule.ofStatus(status);
        boolean repeated = condition != null
                && repeats(of, condition)
                && sendAgain(of, condition, ExtraAttempt.STATUS, condition.token(), ErrorCode.CANCELLED);
        if (!repeated) {
            long now = owner.nanoTime();
            choose(of, now);
            if (!exchange.isEnded()) {
                exchange.onHead(responseHead, status, end, now);
            }
        }
    }

    /** Ends all others. Those that began before it count as slow. */
    private void choose(Try chosen, long nowNanos) {
        chosen.choose();
        head.set(chosen.head);
        Try each = current;
        current = chosen;
        ExchangeTimer timer = exchange.timer();
        if (timer == null) {
            return;
        }
        timer.cancelNextTry();
        if (body.isEnded()) {
            owner.onResponseTime(timer.awaitedNanos(chosen.startNanos, nowNanos));
        }
        while (each != null) {
            Try behind = each.next;
            each.next = null;
            if (each != chosen) {
                lose(each, timer, each.number < chosen.number, nowNanos);
            }
            each = behind;
        }
    }

    /** A slow one counts, too: otherwise, times would seem shorter with each that overtakes one. */
    private void lose(Try loser, ExchangeTimer timer, boolean overtaken, long nowNanos) {
        report.onAttemptFailed(loser.number, loser.workerId(), LOST_RACE);
        if (overtaken) {
            owner.onResponseTime(timer.awaitedNanos(loser.startNanos, nowNanos));
        }
        loser.cancel(ErrorCode.CANCELLED);
        if (overtaken) {
            loser.doubtWorker();
        }
    }

    void onFailure(Try failed, Failure failure) {
        ExchangeTimer timer = exchange.timer();
        if (timer != null && failure.kind() == Failure.Kind.TIMEOUT && failed.limitedByDeadline) {
            failed.end();
            exchange.fail(timer.lateFailure("no complete response"));
        } else if (!continuesWithout(failed, failure) && !isFailureRepeated(failed, failure)) {
            exchange.endFailed(failure);
        }
    }

    /** The handler has failed, of which the client would learn as 500. */
    private boolean isFailureRepeated(Try failed, Failure failure) {
        String token = failure.kind().token();
        boolean ofHandler =
                failure.kind() == Failure.Kind.HANDLER_FAILED || failure.kind() == Failure.Kind.HANDLER_CANCELLED;
        boolean repeated = ofHandler
                && repeats(failed, RetryCondition.STATUS_500)
                && sendAgain(failed, RetryCondition.STATUS_500, ExtraAttempt.STATUS, token, null);
        if (repeated) {
            failed.doubtWorker();
        }
        return repeated;
    }

    /** Returns whether the policy wants another response than one with this status. */
    private boolean repeats(Try of, RetryCondition status) {
        AttemptPolicy rule = exchange.policy().attempts();
        return !rule.overlaps() && rule.retryOn().contains(status) && of.isOfWorker() && exchange.isSent();
    }

    void onRefused(Try refused, Failure failure) {
        if (refused.isOfWorker()) {
            sendAgainOrFail(refused, failure, RetryCondition.REFUSED, ExtraAttempt.REFUSED);
        } else {
            if (isRepeatable()) {
                report.onAttemptFailed(refused.number, null, failure.kind().token());
            }
            onBusy(refused, failure);
        }
    }

    void onLost(Try lost, Failure failure) {
        sendAgainOrFail(lost, failure, RetryCondition.LOST, ExtraAttempt.LOST);
    }

    /** Its worker had no room, so it was no try. */
    void onBusy(Try busy, Failure failure) {
        boolean last = busy.number == count;
        if (continuesWithout(busy, failure)) {
            count -= last ? 1 : 0;
            setTimer();
            return;
        }
        if (isRepeatable()) {
            busy.onTiming(-1, -1);
            exchange.waitAgain();
            count--;
            if (owner.requeue(exchange)) {
                return;
            }
            count++;
        }
        exchange.endFailed(failure);
    }

    private void sendAgainOrFail(Try ended, Failure failure, RetryCondition condition, ExtraAttempt reason) {
        if (!continuesWithout(ended, failure)
                && !sendAgain(ended, condition, reason, failure.kind().token(), null)) {
            exchange.endFailed(failure);
        }
    }

    /**
     * Ends a try that has failed.
     *
     * @return whether another one is in flight
     */
    private boolean continuesWithout(Try ended, Failure failure) {
        ended.end();
        if (current == ended && ended.next == null) {
            return false;
        }
        remove(ended);
        avoid(ended.workerId());
        // The time of this try is no time in the queue.
        exchange.place().setTicket(owner.newTicket(exchange));
        report.onAttemptFailed(ended.number, ended.workerId(), failure.kind().token());
        return true;
    }

    private void remove(Try ended) {
        if (current == ended) {
            current = ended.next;
        } else {
            Try before = current;
            while (before != null && before.next != ended) {
                before = before.next;
            }
            if (before != null) {
                before.next = ended.next;
            }
        }
        ended.next = null;
    }

    /**
     * Sends the request again after the only try, if its policy, its state and the budget allow it.
     *
     * @param token what has happened to the try
     * @param cancelled cancels the try, which continues; {@code null} = it has ended
     * @return false if this try is the last one
     */
    private boolean sendAgain(
            Try last, RetryCondition condition, ExtraAttempt reason, String token, @Nullable ErrorCode cancelled) {
        RetryDenial denied =
                RetryRule.denial(exchange.policy().attempts(), condition, count, head.isIdempotent(), isRepeatable());
        if (denied == null) {
            denied = owner.takeExtraAttempt(reason);
        }
        if (denied != null) {
            report.onDenied(denied);
            return false;
        }
        if (cancelled != null) {
            last.cancel(cancelled);
            if (exchange.isEnded()) {
                return true; // The program has cancelled it meanwhile.
            }
            last.doubtWorker();
            // The event loop of a cancelled try may still read these.
            head.set(head.copy());
        }
        avoid(last.workerId());
        seen |= condition != RetryCondition.REFUSED;
        last.onTiming(-1, -1);
        exchange.waitAgain();
        // The time of this try is no time in the queue.
        exchange.place().setTicket(owner.newTicket(exchange));
        report.onRepeated(last.number, last.workerId(), token, reason);
        owner.retry(exchange);
        return true;
    }

    /** Cancels all in flight, and the one whose response is the client's. */
    void cancel(ErrorCode code) {
        for (Try each = current; each != null; ) {
            Try behind = each.next;
            each.next = null;
            seen |= each.cancel(code);
            each = behind;
        }
    }

    /**
     * Returns what the client is told of a failure: if a handler may have begun, it is not asked to
     * send the request again.
     */
    Failure told(Failure failure) {
        return seen && failure.wasNotTried() ? failure.afterAttempt() : failure;
    }

    // What there is to know of them.

    boolean isCurrent(Try one) {
        return current == one;
    }

    @Nullable
    String workerId() {
        return current == null ? null : current.workerId();
    }

    /** Returns whether the last one, if there was one, was a direct call. */
    public boolean wasDirect() {
        return current != null && !current.isOfWorker();
    }

    int count() {
        return count;
    }

    /** Returns for how long the last carrier has had the request. */
    public long serviceNanos() {
        return current == null ? 0 : owner.nanoTime() - current.startNanos;
    }

    /** All have ended. */
    void report(long startNanos, long endNanos) {
        report.onLastAttempt(count, workerId(), current != null && current.isOfBase());
        report.onTimes((count == 0 ? endNanos : firstNanos) - startNanos, endNanos - startNanos);
        if (current != null) {
            report.onTiming(current.handlerWaitMicros, current.handlerMicros);
        }
    }
}
