package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.worker.adapter.runtime.Answer.Failure;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One event on its way to a child, and its answer on the way back:
 *
 * <pre>
 *   NEW ──▶ WAITING ──▶ GIVEN ◀──▶ ANSWERING ──▶ ENDED
 *    └─────────────────▲  └───────────────────────▲
 * </pre>
 *
 * From ANSWERING it goes back to GIVEN where the connection breaks in the middle of an answer in
 * one piece, for the child may send it again. Whatever the state, the one who asked may {@link
 * #drop} the answer: the child works on, for the Runtime API has no way to tell it. What the one
 * who asked throws is logged and goes no further: neither the child nor other requests have to do
 * with it. Confined to the loop of the API once it is submitted.
 */
final class Invocation {
    enum State {
        NEW,
        WAITING,
        GIVEN,
        ANSWERING,
        ENDED
    }

    private static final long LEAST_HANG_NANOS = TimeUnit.SECONDS.toNanos(1);

    final InvokeHead head;
    final int eventBytes;
    State state = State.NEW;

    private long givenNanos;
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
        givenNanos = nowNanos;
    }

    /**
     * A child has had it for as long as the request could take in all, and for a second at least:
     * one that came late, from a queue here or at the dispatcher, does not cost the child its life,
     * or an overload would make ever more of itself.
     */
    boolean isHanging(long nowNanos) {
        return nowNanos - givenNanos >= Math.max(head.timeoutNanos(), LEAST_HANG_NANOS);
    }

    /**
     * Its child, too, has stood still for so long, which is no time to hang; for the one who asked
     * the deadline passes nevertheless.
     */
    void onFrozen(long nanos) {
        givenNanos += nanos;
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

    /** For the one who asked; the child may still answer. */
    void timeOut() {
        tell(to -> to.onFailed(Failure.TIMED_OUT, "no response before the deadline"));
    }

    /** @return {@code null} if nobody wants it */
    Answer.@Nullable Stream beginStream(String contentType, Runnable resume) {
        state = State.ANSWERING;
        Answer to = takeAnswer();
        try {
            return to == null ? null : to.onStream(contentType, resume);
        } catch (Throwable e) {
            FailureLog.report("the receiver of a response", id(), e);
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
