/**
 * The parts of a macro run besides the dispatcher: an HTTP backend on one event loop for the other
 * proxies that are compared, and workers that serve the same resources.
 */
@NullMarked
package io.lambdadispatcher.bench.endtoend;

import org.jspecify.annotations.NullMarked;
