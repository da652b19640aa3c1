/**
 * What a dispatcher reports to its embedder: events for metrics, logs and traces, and snapshots of
 * its workers, requests and clients.
 */
@NullMarked
package io.lambdadispatcher.core.observe;

import org.jspecify.annotations.NullMarked;
