/** The metrics of the dispatcher and of the JVM, in one Prometheus registry. */
@NullMarked
package io.lambdadispatcher.server.metrics;

import org.jspecify.annotations.NullMarked;
