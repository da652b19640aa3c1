/**
 * What a dispatcher tells its embedder while it runs: events for metrics and logs, and snapshots of its pools.
 */
@NullMarked
package io.lambdadispatcher.core.observe;

import org.jspecify.annotations.NullMarked;
