package io.lambdadispatcher.server;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sun.misc.Signal;

/**
 * A request to end the program. The first SIGTERM or SIGINT requests an orderly shutdown; the
 * second ends the process immediately.
 *
 * <p>A shutdown hook could do neither: the JVM ignores further signals while hooks run, and it
 * exits with 143 instead of 0.
 */
final class Termination {
    private static final Logger log = LoggerFactory.getLogger(Termination.class);

    private final CountDownLatch requested = new CountDownLatch(1);
    private volatile boolean interrupted;

    static Termination onSignals() {
        Termination termination = new Termination();
        for (String name : new String[] {"TERM", "INT"}) {
            Signal.handle(new Signal(name), signal -> termination.onSignal(signal.getName(), signal.getNumber()));
        }
        return termination;
    }

    /**
     * Sets what SIGHUP does. Without it, SIGHUP ends the process, as when a terminal is closed. Has
     * no effect if the process was started with nohup.
     */
    void onHangUp(Runnable action) {
        Signal.handle(new Signal("HUP"), signal -> action.run());
    }

    void onSignal(String name, int number) {
        if (isRequested()) {
            log.warn("Received a second signal, SIG{}. The process exits immediately.", name);
            Runtime.getRuntime().halt(128 + number);
        }
        log.info("Received SIG{}. The dispatcher shuts down.", name);
        interrupted = name.equals("INT");
        request();
    }

    void request() {
        requested.countDown();
    }

    boolean isRequested() {
        return requested.getCount() == 0;
    }

    /** Returns whether a person has requested it at a terminal, with SIGINT. */
    boolean isInterrupted() {
        return interrupted;
    }

    void await() throws InterruptedException {
        requested.await();
    }

    /** @return whether it was requested in time */
    boolean await(long millis) throws InterruptedException {
        return requested.await(millis, TimeUnit.MILLISECONDS);
    }
}
