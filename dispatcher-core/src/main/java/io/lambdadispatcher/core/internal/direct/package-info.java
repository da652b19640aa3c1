/**
 * The direct path: invokes a function once per request, as a load balancer or API Gateway does. A
 * {@code DirectCall} carries an exchange instead of a worker stream. All state is confined to the
 * client's event loop, except in {@code DirectFunction}.
 */
@NullMarked
package io.lambdadispatcher.core.internal.direct;

import org.jspecify.annotations.NullMarked;
