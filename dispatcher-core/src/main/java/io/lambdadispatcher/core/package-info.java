/**
 * The public API: {@link io.lambdadispatcher.core.Dispatcher} and what it is built from. All types are immutable or thread-safe
 * unless they say otherwise.
 */
@NullMarked
package io.lambdadispatcher.core;

import org.jspecify.annotations.NullMarked;
