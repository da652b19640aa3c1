package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.observe.FilterGauge;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Stands between clients and functions. It decides about each request, see {@link Decision}, and
 * can follow its response, see {@link ResponseFilter}.
 *
 * <pre>{@code
 * Filter served = request -> Decision.pass(new ResponseFilter() {
 *     public void onHead(int status, HeaderFields headers) {
 *         headers.set("x-served-by", "shop");
 *     }
 * });
 * }</pre>
 *
 * <p>Filters of all functions in the phases {@link Phase#AUTHENTICATE} and {@link Phase#REWRITE}
 * see a request before the router does. All others see it after the router, and before the policy
 * of its route: its breaker and its limits. So a request that a filter answers reaches none of
 * them. Only {@link Phase#FORWARD} is behind stored responses and the breaker.
 * Within a phase, filters run in the order in which they were added.
 *
 * <p>Flow control and cancellation are the dispatcher's. While a filter decides, the body waits
 * within the client's flow-control window.
 *
 * <p><b>Threading.</b> {@link #onRequest} is called on event loops, so it must not block. One
 * filter serves all event loops.
 */
@FunctionalInterface
public interface Filter {
    /**
     * Decides about a request. If this throws, the client receives 500, and the failure is {@code
     * filter_failed}.
     *
     * @param request valid until the response has ended
     */
    Decision onRequest(RequestContext request);

    /** Returns when the filter runs. Called once, when the dispatcher starts. */
    default Phase phase() {
        return Phase.ANSWER;
    }

    /**
     * Returns the type of a policy without which the filter has nothing to do; {@code null} = it
     * sees all requests. After the router, only requests pass through the filter whose {@link
     * RequestContext#policy} of this type is there. All others do not pay for it. Called when the
     * dispatcher starts.
     */
    default @Nullable Class<?> policyType() {
        return null;
    }

    /** Returns what the filter measures. Called once, when metrics are registered. */
    default List<FilterGauge> gauges() {
        return List.of();
    }

    /**
     * Ends what the filter has begun. Called once by each dispatcher that it was added to, when
     * that dispatcher closes and no request is left, on a thread that may block. Default: does
     * nothing.
     */
    default void close() {}

    /** When a filter runs, in this order. */
    enum Phase {
        /** Who sends the request, and whether it may. */
        AUTHENTICATE,
        /** Changes what the router and the policies of routes read. */
        REWRITE,
        /** Answers instead of the function, or changes its response. */
        ANSWER,
        /** Only looks at what the others have let pass. */
        OBSERVE,
        /**
         * Changes in which form clients get responses, for example compressed. All filters above
         * see that form. Responses are stored without it, once for all clients.
         */
        ENCODE,
        /**
         * Answers with what it has kept of earlier responses, in front of the breaker and the
         * limits of the route, so what it answers counts in neither. It sees the requests that
         * these refuse, and can replace the refusal.
         */
        STORE,
        /**
         * Sees only what goes to the function, behind stored responses and the breaker. Its {@link
         * RequestContext} can be another one than that of the other phases.
         */
        FORWARD
    }
}
