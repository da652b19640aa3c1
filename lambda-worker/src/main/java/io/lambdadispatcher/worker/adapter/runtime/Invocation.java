package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.worker.adapter.runtime.Answer.Failure;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One event on its way to a child, and the response on its way back.
 *
 * <pre>
 *   NEW ──▶ WAITING ──▶ GIVEN ◀──▶ ANSWERING ──▶ ENDED
 *    └─────────────────▲  └───────────────────────▲
 * </pre>
 *
 * If the connection breaks within a response that is not streamed, the state returns from ANSWERING
 * to GIVEN, because the child may send the response again. In any state, the response can be
 * dropped ({@link #drop}). The child continues even so, because the Runtime API cannot tell it to
 * stop.
 *
 * <p><b>Errors.</b> An exception of the receiver is logged and affects neither the child nor other
 * requests.
 *
 * <p><b>Threading.</b> Confined to the loop of the API after it has been submitted.
 */
final class Invocation {
    enum State {
        NEW,
        WAITING,
        GIVEN,
        ANSWERING,
        ENDED
    }

    /** A client may choose a shorter deadline, and must not end a healthy child. */
    private static final long LEAST_HANG_NANOS = TimeUnit.SECONDS.toNanos(10);

    final InvokeHead head;
    final int eventBytes;
    State state = State.NEW;

    /** By what the child has got it; {@code null} = it has not. */
    @Nullable
    ApiConnection poll;

    private long aliveNanos;
    private byte @Nullable [] event;
    private @Nullable Answer answer;

    Invocation(InvokeHead head, byte[] event, Answer answer) {
        this.head = head;
        this.event = event;
        this.eventBytes = event.length;
        this.answer = answer;
    }

    String id() {
        return head.id();
    }

    byte[] event() {
        if (event == null) {
            throw new IllegalStateException("invocation " + id() + " is " + state + " and has no event any more");
        }
        return event;
    }

    boolean isWanted() {
        return answer != null;
    }

    void onGiven(long nowNanos) {
        state = State.GIVEN;
        aliveNanos = nowNanos;
    }

    /** Returns whether the child has asked for another by the same connection, or has closed it. */
    boolean isForgotten(Collection<ApiConnection> polls) {
        return state == State.GIVEN && poll != null && (polls.contains(poll) || !poll.isOpen());
    }

    /** Bytes of the response have arrived. */
    void onAlive(long nowNanos) {
        aliveNanos = nowNanos;
    }

    /**
     * Returns whether the child has held the invocation for the request's complete timeout, and for
     * at least 10 s, without a byte of a response. Time in a queue does not count. Otherwise,
     * requests that arrive late would end healthy children, and an overload would become worse.
     */
    boolean isHanging(long nowNanos) {
        return nowNanos - aliveNanos >= Math.max(head.timeoutNanos(), LEAST_HANG_NANOS);
    }

    /**
     * Excludes the time of a freeze from {@link #isHanging}, because the child stood still too. The
     * request's deadline does not change.
     */
    void onFrozen(long nanos) {
        aliveNanos += nanos;
    }

    void onDelivered() {
        event = null;
    }

    void drop() {
        answer = null;
        event = null;
    }

    void endWhole(byte[] payload) {
        end(to -> to.onWhole(payload));
    }

    void endError(String type, byte[] details) {
        end(to -> to.onError(type, details));
    }

    void endFailed(Failure why, String text) {
        end(to -> to.onFailed(why, text));
    }

    /** Fails the request because of its deadline. The child may still respond. */
    void timeOut() {
        tell(to -> to.onFailed(Failure.TIMED_OUT, "no response before the deadline"));
    }

    /** @return {@code null} if the response is no longer needed */
    Answer.@Nullable Stream beginStream(String contentType, Runnable resume, Runnable stop) {
        state = State.ANSWERING;
        Answer to = takeAnswer();
        try {
            return to == null ? null : to.onStream(contentType, resume, stop);
        } catch (Throwable e) {
            answer = to;
            tell(failed -> failed.onFailed(Failure.CHILD_FAILED, "a streamed answer that cannot begin: " + e));
            return null;
        }
    }

    private void end(Consumer<Answer> how) {
        state = State.ENDED;
        tell(how);
    }

    private void tell(Consumer<Answer> what) {
        Answer to = takeAnswer();
        if (to == null) {
            return;
        }
        try {
            what.accept(to);
        } catch (Throwable e) {
            FailureLog.report("the receiver of a response", id(), e);
        }
    }

    private @Nullable Answer takeAnswer() {
        Answer to = answer;
        drop();
        return to;
    }
}
