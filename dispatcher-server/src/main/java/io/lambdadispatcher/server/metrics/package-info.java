/** Meters, and the observer that feeds them from event loops. */
@NullMarked
package io.lambdadispatcher.server.metrics;

import org.jspecify.annotations.NullMarked;
