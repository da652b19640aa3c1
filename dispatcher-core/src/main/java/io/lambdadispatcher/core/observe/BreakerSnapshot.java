package io.lambdadispatcher.core.observe;

/**
 * The state of a breaker that has opened since the dispatcher started.
 *
 * @param function the name of the function
 * @param breaker the name of the breaker: that of its policy
 * @param state the state now
 * @param reason why the breaker has this state, with figures, in one line
 */
public record BreakerSnapshot(String function, String breaker, BreakerState state, String reason) {}
