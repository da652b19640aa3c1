/**
 * The event loops, the channels that they have accepted, and the way of a request into the pools on
 * them.
 */
@NullMarked
package io.lambdadispatcher.core.internal.engine;

import org.jspecify.annotations.NullMarked;
