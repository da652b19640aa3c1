package io.lambdadispatcher.core.internal.capacity.simulate;

/** A way to an answer. */
interface Path {
    /** A request arrives now. Its end may come before this returns, if it is refused. */
    void onRequest(Caller caller);

    /** Who has sent a request. */
    interface Caller {
        /** Of whom nobody waits for an answer. */
        Caller NOBODY = answered -> {};

        /** @param answered else refused, timed out or cut short */
        void onEnd(boolean answered);
    }
}
