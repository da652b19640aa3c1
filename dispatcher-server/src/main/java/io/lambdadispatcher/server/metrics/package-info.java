/**
 * What {@code /metrics} shows: the dispatcher's metrics and the JVM's, in one Prometheus registry.
 */
@NullMarked
package io.lambdadispatcher.server.metrics;

import org.jspecify.annotations.NullMarked;
