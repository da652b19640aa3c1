/** Metrics of an embedded dispatcher: {@link io.lambdadispatcher.micrometer.DispatcherMetrics}. */
@NullMarked
package io.lambdadispatcher.micrometer;

import org.jspecify.annotations.NullMarked;
