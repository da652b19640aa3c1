/**
 * Options of a dispatcher. All of them are immutable and can be used by any thread. Builders belong
 * to one thread.
 */
@NullMarked
package io.lambdadispatcher.core.options;

import org.jspecify.annotations.NullMarked;
