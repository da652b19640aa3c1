package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sees what the dispatcher does; metrics and access logs hang here. Called on event loops: implementations return quickly, do not block
 * and do not throw. Every method does nothing by default.
 */
public interface DispatcherObserver {
    DispatcherObserver NONE = new DispatcherObserver() {
        @Override
        public boolean wantsExchanges() {
            return false;
        }
    };

    /** Returns an observer that tells several of everything, in their order. */
    static DispatcherObserver of(DispatcherObserver... observers) {
        return new ObserverList(List.of(observers));
    }

    /** How an exchange ended. */
    enum Outcome {
        /** The client got the worker's whole response. */
        COMPLETED,
        /** The client went away first. */
        CANCELLED,
        /** The client got an error made by the dispatcher, or a response cut short. */
        FAILED
    }

    /**
     * One finished exchange. A WebSocket is a CONNECT whichever HTTP its client speaks, and 200 when it was opened, also where 101 was sent.
     *
     * @param function {@code null} if no route matched
     * @param workerId {@code null} if it never reached a worker
     * @param method as it came; with {@code path}, not to be kept as it is
     * @param status as sent; 0 if none was sent
     * @param failure {@code null} unless {@code outcome} is FAILED; e.g. {@code QUEUE_FULL}
     * @param queueNanos from arrival until a worker stream took it (or it ended)
     * @param totalNanos from arrival until the last octet of the response was passed on
     * @param attempts worker streams tried
     */
    record ExchangeEnd(
            @Nullable String function,
            @Nullable String workerId,
            CharSequence method,
            CharSequence path,
            int status,
            Outcome outcome,
            @Nullable String failure,
            long requestBytes,
            long responseBytes,
            long queueNanos,
            long totalNanos,
            int attempts) {

        /** It was open for as long as its ends liked: its time says nothing of how fast anybody answers. */
        public boolean isTunnel() {
            return status / 100 == 2 && "CONNECT".contentEquals(method);
        }
    }

    default void onExchangeEnd(ExchangeEnd end) {}

    /** A client connection was accepted. */
    default void onClientConnected() {}

    default void onClientDisconnected() {}

    /** A worker connection said hello and was let in. */
    default void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {}

    /** @param reason in one line; {@code clean} = after drain and goodbye */
    default void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {}

    /** A dial-in was turned away: wrong or expired token, unknown function, bad protocol. */
    default void onWorkerRejected(SocketAddress remote, String reason) {}

    default void onWorkerLoad(
            String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {}

    default void onLaunch(String function, String workerId) {}

    /** The dispatcher has limited a client or a worker. Called on an event loop, once for each request, stream or connection concerned. */
    default void onProtection(Protection protection) {}

    default void onLaunchEnd(String function, String workerId, boolean failed, String detail) {}

    /** @return whether {@link #onExchangeEnd} is worth its allocation; asked once, at start */
    default boolean wantsExchanges() {
        return true;
    }
}
