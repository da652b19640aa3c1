/**
 * Tools for code on event loops: a clock, queues with timeouts, a rate-limited log, and incidents.
 */
@NullMarked
package io.lambdadispatcher.core.internal.loop;

import org.jspecify.annotations.NullMarked;
