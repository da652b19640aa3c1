package io.lambdadispatcher.worker.handler;

/**
 * The body of a request, which is pushed to a reader as it arrives.
 *
 * <p><b>Back-pressure.</b> The client may send more as the reader receives bytes. A paused reader
 * receives nothing, so at most a window waits in memory. If a handler never reads, the client is
 * stopped at that window until the response ends, and the rest is dropped. In a tunnel that nobody
 * reads, the rest is dropped when the client has ended it, too.
 */
public interface RequestBody {
    /**
     * Returns whether the request has no body and no trailers. A reader gets only {@link
     * BodyReader#onEnd}.
     */
    boolean isEmpty();

    /**
     * Starts to read. The reader receives what has already arrived before this method returns.
     * Event loop only.
     *
     * @throws IllegalStateException if there is a reader already
     */
    void read(BodyReader reader);

    /**
     * Gathers the whole body, then calls {@code then} on the event loop. A longer body is answered
     * with 413. If the body breaks off, {@code then} is not called, because nobody waits for the
     * response. Event loop only.
     *
     * @param maxBytes maximum size of the body and of the memory that it takes, 0 or more
     * @throws IllegalStateException if there is a reader already
     */
    void readAll(int maxBytes, WholeBody then);

    /**
     * Stops calls to the reader, {@link BodyReader#onEnd} included, until {@link #resume}. It takes
     * effect immediately on the event loop, and soon from another thread.
     */
    void pause();

    /** Undoes {@link #pause}. Any thread. */
    void resume();
}
