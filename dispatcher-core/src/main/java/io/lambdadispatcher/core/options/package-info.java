/**
 * Options of a dispatcher. Immutable; any thread.
 */
@NullMarked
package io.lambdadispatcher.core.options;

import org.jspecify.annotations.NullMarked;
