/**
 * Requests and responses that come by no worker stream, and the log of what handlers fail with.
 */
@NullMarked
package io.lambdadispatcher.worker.internal.exchange;

import org.jspecify.annotations.NullMarked;
