package io.lambdadispatcher.core.observe;

import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Observes the dispatcher, for metrics, access logs and traces. Implement the methods that you
 * need. By default, they do nothing.
 *
 * <p><b>Threading.</b> Methods are called on event loops, several of them concurrently. They must
 * return quickly and must not block.
 *
 * <p><b>Errors.</b> If a method or a listener throws, the dispatcher logs it, and the request is
 * not affected.
 */
public interface DispatcherObserver {
    /** An observer that does nothing. */
    DispatcherObserver NONE = new DispatcherObserver() {};

    /**
     * Called once for each request that arrives, including those that the dispatcher refuses. It is
     * not called for requests that break rules of HTTP.
     *
     * <pre>{@code
     * public ExchangeListener onExchangeStart(ExchangeStart start) {
     *     Span span = tracer.spanBuilder(start.headers().method().toString()).startSpan();
     *     return end -> span.setAttribute("http.response.status_code", end.status()).end();
     * }
     * }</pre>
     *
     * @param start valid only during this call
     * @return a listener that is called on the same event loop during the exchange and at its end,
     *     or {@code null}. Return the same object each time if it keeps no state of the exchange
     */
    default @Nullable ExchangeListener onExchangeStart(ExchangeStart start) {
        return null;
    }

    /**
     * Called when a client connection has been accepted. Connections that are refused because of a
     * limit are reported only to {@link #onProtection}.
     */
    default void onClientConnected() {}

    /** Called when a client connection that was accepted has been closed. */
    default void onClientDisconnected() {}

    /**
     * Called when a worker connection has been accepted and the worker has said HELLO. A worker
     * with several connections causes several calls.
     *
     * @param function the name of the function
     * @param workerId the id of the worker
     * @param remote the remote address of the connection
     * @param streams maximum number of worker streams on the connection
     */
    default void onWorkerConnected(String function, String workerId, SocketAddress remote, int streams) {}

    /**
     * Called when a worker connection that was reported to {@link #onWorkerConnected} has been
     * closed.
     *
     * @param function the name of the function
     * @param workerId the id of the worker
     * @param clean whether the worker or the dispatcher said GOODBYE first. A worker does so after
     *     draining. If neither did, the worker is lost
     * @param reason why the connection was closed, in one line
     */
    default void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {}

    /**
     * Called when a worker's connection is rejected, for example because of an invalid or expired
     * token or an unknown function. It is also called when a connected worker breaks the protocol.
     *
     * @param remote the remote address of the connection
     * @param reason why it was rejected, in one line
     */
    default void onWorkerRejected(SocketAddress remote, String reason) {}

    /**
     * Called when a worker connection reports its load, normally every 5 s. {@code
     * docs/reference/protocol.md} describes LOAD.
     *
     * @param function the name of the function
     * @param workerId the id of the worker
     * @param cpuPermille CPU time since the last report, in thousandths of one core. It is over
     *     1,000 if several cores were busy
     * @param memoryPermille the part of the heap that is in use, in thousandths
     * @param loopLagMicros the longest delay of the worker's event loop, in microseconds
     */
    default void onWorkerLoad(
            String function, String workerId, int cpuPermille, int memoryPermille, int loopLagMicros) {}

    /**
     * Called before a worker is launched.
     *
     * @param function the name of the function
     * @param workerId the id of the new worker
     * @param reason why it is launched, in one line, for example {@code minimum}
     */
    default void onLaunch(String function, String workerId, String reason) {}

    /**
     * Called each time the dispatcher limits a client or a worker. It can be called several times
     * for one request or connection.
     *
     * @param protection what the dispatcher did
     */
    default void onProtection(Protection protection) {}

    /**
     * Called when a breaker changes its state.
     *
     * @param function the name of the function
     * @param breaker the name of the breaker: that of its policy
     * @param state the new state
     * @param reason why, with figures, in one line
     */
    default void onBreaker(String function, String breaker, BreakerState state, String reason) {}

    /**
     * Called when an incident begins, and when it ends. The log says the same.
     *
     * @param incident what goes wrong, or went wrong: {@link Incident#isOver}
     */
    default void onIncident(Incident incident) {}

    /**
     * Called when a launched worker has ended or could not be started.
     *
     * @param function the name of the function
     * @param workerId the id of the worker
     * @param failed whether the worker or its launch failed
     * @param detail why it ended, in one line
     */
    default void onLaunchEnd(String function, String workerId, boolean failed, String detail) {}

    /**
     * Called when a filter has reported something.
     *
     * @param function the name of the function; {@code null} = the router has not run
     */
    default void onFilterEvent(@Nullable String function, FilterEvent event) {}
}
