/**
 * The event loops, the channels that they have accepted, and the routing of requests to the pools
 * of functions.
 */
@NullMarked
package io.lambdadispatcher.core.internal.engine;

import org.jspecify.annotations.NullMarked;
