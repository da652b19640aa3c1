package io.lambdadispatcher.worker.adapter.runtime;

import io.netty.buffer.ByteBuf;

/**
 * Takes what becomes of an invocation: exactly one of its methods is called, on the loop of the
 * API.
 */
interface Answer {
    /** Why there is no answer. */
    enum Failure {
        /** No child has seen it. */
        REFUSED,
        /** The child has died, or has answered in a way that nobody can use. */
        CHILD_FAILED,
        /** The deadline has passed. */
        TIMED_OUT
    }

    /** @param payload as the function returned it, mostly JSON; not changed any more */
    void onWhole(byte[] payload);

    /**
     * The function streams its answer.
     *
     * @param contentType of the stream; empty if the child sent none
     * @param resume may be called from any thread, when the stream that is returned can take more
     *     after it has said that it cannot
     */
    Stream onStream(String contentType, Runnable resume);

    /** The function failed. @param details as its runtime describes it, mostly JSON */
    void onError(String type, byte[] details);

    /** @param text for logs */
    void onFailed(Failure why, String text);

    /** A streamed answer; ends with exactly one of {@link #onEnd} and {@link #onBroken}. */
    interface Stream {
        /**
         * @param bytes the stream's from now on
         * @return false to be given no more for the moment
         */
        boolean onBytes(ByteBuf bytes);

        void onEnd();

        /** @param text for logs */
        void onBroken(String text);
    }
}
