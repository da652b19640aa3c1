/**
 * Child processes of the worker: started, their output logged, started again when they die, and
 * gone when the worker is. One thread for all of them; listeners are called on it and must not
 * block.
 */
@NullMarked
package io.lambdadispatcher.worker.internal.child;

import org.jspecify.annotations.NullMarked;
