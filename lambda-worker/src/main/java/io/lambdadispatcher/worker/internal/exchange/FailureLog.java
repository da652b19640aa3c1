package io.lambdadispatcher.worker.internal.exchange;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs failures of handlers for their authors: at WARN with a stack trace at most once a second,
 * because a handler that always fails would fill the log, and all others at TRACE. Any thread.
 */
public final class FailureLog {
    private static final Logger log = LoggerFactory.getLogger(FailureLog.class);
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final AtomicLong nextNanos = new AtomicLong(System.nanoTime());

    private FailureLog() {}

    /**
     * Reports a handler that has not begun to respond when its time is over. Perhaps it never will.
     */
    public static void reportUnanswered(Object request) {
        TimeoutException cause = new TimeoutException("no response within the request's time");
        cause.setStackTrace(new StackTraceElement[0]);
        report("handler", request, cause);
    }

    /** @param loss the header that a response loses, see {@code ResponseReader} */
    public static void reportLoss(String loss) {
        log.warn(
                "{}. Set LAMBDA_DISPATCHER_EVENT to the format of the responses. Further losses are not logged.", loss);
    }

    /** @param request appears in the log as text */
    public static void report(String what, Object request, Throwable cause) {
        long now = System.nanoTime();
        long next = nextNanos.get();
        if (now - next >= 0 && nextNanos.compareAndSet(next, now + INTERVAL_NANOS)) {
            log.warn("{} failed on {}. Further failures within 1 s are logged at TRACE.", what, request, cause);
        } else {
            log.trace("{} failed on {}", what, request, cause);
        }
    }
}
