package io.lambdadispatcher.server.top;

import io.lambdadispatcher.server.top.StateEvents.Event;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the latest state of a dispatcher. Connects again if the connection is lost. Any thread.
 */
final class Watcher implements AutoCloseable {
    private static final int FIRST_SECONDS = 15;
    private static final long RETRY_MILLIS = 1000;
    private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final String LOST = "The dispatcher does not answer. Trying again ...";

    private final URI uri;
    private final AdminRequest port;
    private final CompletableFuture<Event> first = new CompletableFuture<>();
    private final Thread thread = new Thread(this::watch, "top-events");
    private volatile @Nullable Members state;
    private volatile @Nullable String problem;
    private volatile @Nullable StateEvents events;
    private volatile long eventNanos;

    Watcher(URI uri, AdminRequest port) {
        this.uri = uri;
        this.port = port;
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Waits for the first event.
     *
     * @throws TopException if there is none
     */
    Event first() throws TopException, InterruptedException {
        try {
            return first.get(FIRST_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new TopException(uri + ": no event within " + FIRST_SECONDS + " s. Try again later.", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof TopException failure
                    ? failure
                    : new TopException(uri + ": " + e.getMessage(), e);
        }
    }

    /**
     * Returns the latest state; {@code null} before the first one. Parts that the dispatcher does
     * not know are those of an earlier event.
     */
    @Nullable
    Members state() {
        return state;
    }

    /** Returns why the state is not current, in one line; {@code null} if it is. */
    @Nullable
    String problem() {
        StateEvents current = events;
        if (current != null && System.nanoTime() - eventNanos > SILENT_NANOS) {
            // Makes the thread connect again.
            current.close();
            return LOST;
        }
        return problem;
    }

    private void watch() {
        try {
            while (true) {
                follow();
                Thread.sleep(RETRY_MILLIS);
            }
        } catch (InterruptedException e) {
            // Nobody watches any more.
        }
    }

    private void follow() throws InterruptedException {
        try (StateEvents opened = StateEvents.open(uri, port)) {
            eventNanos = System.nanoTime();
            events = opened;
            while (true) {
                Event event = opened.next();
                eventNanos = System.nanoTime();
                Members newer = event.state();
                if (newer != null) {
                    Members older = state;
                    state = older == null ? newer : older.updated(newer);
                }
                problem = event.problem();
                first.complete(event);
            }
        } catch (TopException e) {
            problem = first.isDone() && e.getCause() != null ? LOST : e.getMessage();
            first.completeExceptionally(e);
        } catch (IOException e) {
            problem = LOST;
            first.completeExceptionally(new TopException(uri + ": the connection was lost. Try again later.", e));
        } finally {
            events = null;
        }
    }

    @Override
    public void close() {
        thread.interrupt();
        StateEvents current = events;
        if (current != null) {
            current.close();
        }
    }
}
