package io.lambdadispatcher.cache;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request in flight, and the identical requests of all event loops that wait for its response.
 * The states of the list are: empty, waiting requests, landed. A landed flight takes no more
 * requests. Any thread, without locks.
 */
final class Flight {
    /** Further requests go to the function. */
    private static final int MAX_WAITING = 1024;

    private static final Node LANDED = new Node(null, null, 0);

    private record Node(
            @Nullable WaitingRequest request, @Nullable Node next, int count) {}

    private final AtomicReference<@Nullable Node> waiting = new AtomicReference<>();
    private final int generation;

    /** @param generation of its target when its request began */
    Flight(int generation) {
        this.generation = generation;
    }

    int generation() {
        return generation;
    }

    /** @return false if the request cannot wait, because the flight has landed or is full */
    boolean join(WaitingRequest request) {
        while (true) {
            Node before = waiting.get();
            int count = before == null ? 0 : before.count();
            if (before == LANDED || count == MAX_WAITING) {
                return false;
            }
            if (waiting.compareAndSet(before, new Node(request, before, count + 1))) {
                return true;
            }
        }
    }

    /** Lands if no request waits any more. */
    boolean landIfUnwanted() {
        Node first = waiting.get();
        for (Node each = first; each != null; each = each.next()) {
            WaitingRequest request = each.request();
            if (request == null || !request.isGone()) {
                return false;
            }
        }
        if (!waiting.compareAndSet(first, LANDED)) {
            return false;
        }
        // One of them may have looked at the breaker just now, and want to wait on.
        resume(first, null, false);
        return true;
    }

    /**
     * Gives the response to the waiting requests, each of which continues on its own event loop.
     *
     * @param response {@code null} = there is none for others
     * @param error whether the request has failed, so that they get what replaces an error
     */
    void land(@Nullable StoredResponse response, boolean error) {
        resume(waiting.getAndSet(LANDED), response, error);
    }

    private static void resume(@Nullable Node first, @Nullable StoredResponse response, boolean error) {
        for (Node each = first; each != null; each = each.next()) {
            WaitingRequest request = each.request();
            if (request != null) {
                request.resume(response, error);
            }
        }
    }
}
