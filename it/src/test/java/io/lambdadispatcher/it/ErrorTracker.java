package io.lambdadispatcher.it;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.MDC;

/** Stands for a service that collects exceptions. */
final class ErrorTracker {
    static final BlockingQueue<String> reports = new LinkedBlockingQueue<>();

    private ErrorTracker() {}

    static void report(Throwable failure) {
        reports.add(failure.getMessage() + " of " + MDC.get("request"));
    }
}
