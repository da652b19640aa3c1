/**
 * Rules for the traffic of a function or a route, one class each. They have no thread, no clock and
 * no I/O: callers pass the time. All event loops share their state, and each class says what that
 * costs.
 */
@NullMarked
package io.lambdadispatcher.core.internal.policy;

import org.jspecify.annotations.NullMarked;
