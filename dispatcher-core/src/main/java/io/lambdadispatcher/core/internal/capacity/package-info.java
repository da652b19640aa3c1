/**
 * Decides how many workers to run, and which of them to drain. The caller passes in all times: this
 * package has no thread, clock or I/O. So the simulator can run the same code as the dispatcher.
 */
@NullMarked
package io.lambdadispatcher.core.internal.capacity;

import org.jspecify.annotations.NullMarked;
