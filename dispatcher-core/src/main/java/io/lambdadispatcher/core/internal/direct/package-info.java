/**
 * The direct path: one invocation for each request, as a load balancer or API Gateway does it. A
 * {@code DirectCall} takes a worker stream's place under an exchange. Confined to the client's
 * event loop, except {@code DirectFunction} and the reading of results.
 */
@NullMarked
package io.lambdadispatcher.core.internal.direct;

import org.jspecify.annotations.NullMarked;
