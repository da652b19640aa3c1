/**
 * What handlers that may block need, in a worker and in the process of a dispatcher: the streams of
 * {@code java.io}, and threads that may wait.
 */
@NullMarked
package io.lambdadispatcher.wire.blocking;

import org.jspecify.annotations.NullMarked;
