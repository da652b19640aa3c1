/**
 * How many workers there should be, and which of them should go: arithmetic over times that are
 * passed in. No thread, no clock, no I/O, so that the simulator runs what the dispatcher runs.
 */
@NullMarked
package io.lambdadispatcher.core.internal.capacity;

import org.jspecify.annotations.NullMarked;
