/**
 * A simulator that runs the capacity controller in virtual time, and compares it with the direct
 * path. It does not use JMH; see {@code Simulate}. Everything runs on one thread.
 */
@NullMarked
package io.lambdadispatcher.core.internal.capacity.simulate;

import org.jspecify.annotations.NullMarked;
