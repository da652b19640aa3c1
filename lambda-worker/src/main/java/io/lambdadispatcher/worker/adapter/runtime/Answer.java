package io.lambdadispatcher.worker.adapter.runtime;

import io.netty.buffer.ByteBuf;

/**
 * Receives the outcome of an invocation. Exactly one of its methods is called, on the loop of the
 * API. Only if {@link #onStream} throws, {@link #onFailed} follows.
 */
interface Answer {
    /** Why there is no response. */
    enum Failure {
        /** No child has received the invocation. */
        REFUSED,
        /** The child has exited, or its response is not usable. */
        CHILD_FAILED,
        /** The deadline has passed. */
        TIMED_OUT
    }

    /** @param payload the function's result, usually JSON. It does not change any more */
    void onWhole(byte[] payload);

    /**
     * The function streams its response.
     *
     * @param contentType the content type of the stream, or an empty string if the child sent none
     * @param resume to be called when the returned stream can take bytes again, after it returned
     *     false. Any thread may call it
     * @param stop to be called when nobody needs the rest. Any thread may call it
     */
    Stream onStream(String contentType, Runnable resume, Runnable stop);

    /** The function failed. @param details the runtime's description, usually JSON */
    void onError(String type, byte[] details);

    /** @param text for logs */
    void onFailed(Failure why, String text);

    /**
     * Receives a streamed response. It ends with exactly one of {@link #onEnd} and {@link
     * #onBroken}.
     */
    interface Stream {
        /**
         * @param bytes released by the stream
         * @return false to receive no more bytes until {@code resume} is called
         */
        boolean onBytes(ByteBuf bytes);

        void onEnd();

        /** @param text for logs */
        void onBroken(String text);
    }
}
