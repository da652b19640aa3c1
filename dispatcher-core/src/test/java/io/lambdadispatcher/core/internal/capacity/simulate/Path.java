package io.lambdadispatcher.core.internal.capacity.simulate;

/** A way in which requests are served. */
interface Path {
    /** Receives a request now. It may end before this call returns, if it is refused. */
    void onRequest(Caller caller);

    /** The sender of a request. */
    interface Caller {
        /** A sender that does not wait for a response. */
        Caller NOBODY = answered -> {};

        /** @param answered false if the request was refused, timed out or cut short */
        void onEnd(boolean answered);
    }
}
