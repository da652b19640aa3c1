/**
 * Decisions about traffic: whether a request is admitted, how long it may take, whether it is sent
 * again, and which worker its session has. Each class decides one thing from values that it is
 * given. None has a thread, a clock or I/O. Those that event loops share say how, and what it
 * costs.
 */
@NullMarked
package io.lambdadispatcher.core.internal.policy;

import org.jspecify.annotations.NullMarked;
