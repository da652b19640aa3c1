package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Observes what the dispatcher does, for metrics, access logs and traces. Every method does nothing
 * by default.
 *
 * <p><b>Threading.</b> Called on event loops. Implementations must return quickly and must not
 * block. What they throw is logged.
 */
public interface DispatcherObserver {
    /** Observes nothing. */
    DispatcherObserver NONE = new DispatcherObserver() {};

    /**
     * A request has arrived. Called once for each request, including those that the dispatcher
     * refuses, except those that break rules of HTTP.
     *
     * <pre>{@code
     * public Consumer<ExchangeEnd> onExchangeStart(ExchangeStart start) {
     *     Span span = tracer.spanBuilder(start.headers().method().toString()).startSpan();
     *     return end -> span.setAttribute("http.response.status_code", end.status()).end();
     * }
     * }</pre>
     *
     * @return called once, on the same event loop, when the exchange ends; {@code null} if the
     *     observer need not know. Return the same object for all exchanges if it keeps no state of
     *     one
     */
    default @Nullable Consumer<ExchangeEnd> onExchangeStart(ExchangeStart start) {
        return null;
    }

    /** A client connection was accepted. */
    default void onClientConnected() {}

    /** A client connection was closed. */
    default void onClientDisconnected() {}

    /** A worker connection was admitted. */
    default void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {}

    /** @param reason in one line; {@code clean} = after drain and goodbye */
    default void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {}

    /**
     * A dial-in was rejected, for example because of a wrong or expired token or an unknown
     * function.
     */
    default void onWorkerRejected(SocketAddress remote, String reason) {}

    default void onWorkerLoad(
            String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {}

    default void onLaunch(String function, String workerId) {}

    /**
     * The dispatcher has limited a client or a worker. Called on an event loop, once for each
     * request, stream or connection concerned.
     */
    default void onProtection(Protection protection) {}

    default void onLaunchEnd(String function, String workerId, boolean failed, String detail) {}
}
