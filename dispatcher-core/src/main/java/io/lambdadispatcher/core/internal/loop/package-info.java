/**
 * Tools for code on event loops: a clock, queues with timeouts, and a rate-limited log.
 */
@NullMarked
package io.lambdadispatcher.core.internal.loop;

import org.jspecify.annotations.NullMarked;
