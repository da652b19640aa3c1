/** Micrometer metrics of a dispatcher: {@link io.lambdadispatcher.micrometer.DispatcherMetrics}. */
@NullMarked
package io.lambdadispatcher.micrometer;

import org.jspecify.annotations.NullMarked;
