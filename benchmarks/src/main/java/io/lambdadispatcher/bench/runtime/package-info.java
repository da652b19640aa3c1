/**
 * What the Runtime API between a worker and its runtime costs: the same Java function in the
 * worker's process, and in AWS's runtime client as its child.
 */
@NullMarked
package io.lambdadispatcher.bench.runtime;

import org.jspecify.annotations.NullMarked;
