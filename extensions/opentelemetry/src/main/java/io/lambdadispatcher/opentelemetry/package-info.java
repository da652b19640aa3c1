/**
 * Traces of a dispatcher. Add {@link io.lambdadispatcher.opentelemetry.DispatcherTracing} to the
 * builder of the dispatcher.
 */
@NullMarked
package io.lambdadispatcher.opentelemetry;

import org.jspecify.annotations.NullMarked;
