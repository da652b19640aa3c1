package io.lambdadispatcher.worker.handler;

/**
 * The octets of a request, pushed to a reader as they arrive. Back-pressure: octets go back to the client's window when they are
 * handed to the reader, and a paused reader is handed nothing, so that no more than a window waits in memory.
 *
 * <p>A handler that does not read leaves the client stuck at that window until the response has ended; then the rest is dropped.
 */
public interface RequestBody {
    /** The request has ended with its head; {@link BodyReader#onEnd} is all that a reader will get. */
    boolean isEmpty();

    /**
     * Starts to read; what is there already is handed over before this returns. Event loop only.
     *
     * @throws IllegalStateException if there is a reader already
     */
    void read(BodyReader reader);

    /**
     * Gathers the whole body, then calls {@code then} on the event loop. A longer body is answered with 413, and one that breaks off with
     * nothing, because nobody is left to be answered. Event loop only.
     *
     * @param maxBytes 0 or more; so much memory this request may take
     * @throws IllegalStateException if there is a reader already
     */
    void readAll(int maxBytes, WholeBody then);

    /** Hands over nothing more, {@link BodyReader#onEnd} included, until {@link #resume}. Takes effect at once on the event loop, else soon. */
    void pause();

    /** Undoes {@link #pause}. Any thread. */
    void resume();
}
