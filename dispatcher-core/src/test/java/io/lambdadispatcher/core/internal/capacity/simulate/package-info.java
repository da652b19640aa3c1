/**
 * The capacity controller over virtual time, beside the direct path: not JMH, see {@code Simulate}.
 * One thread throughout.
 */
@NullMarked
package io.lambdadispatcher.core.internal.capacity.simulate;

import org.jspecify.annotations.NullMarked;
