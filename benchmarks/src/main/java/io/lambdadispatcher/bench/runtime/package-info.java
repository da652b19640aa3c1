/**
 * Measures the cost of the Runtime API between a worker and its runtime. The same Java function
 * runs in the worker's process, and in AWS's runtime client as a child process.
 */
@NullMarked
package io.lambdadispatcher.bench.runtime;

import org.jspecify.annotations.NullMarked;
