/**
 * Requests that the embedding program sends itself, and their responses.
 *
 * <pre>{@code
 * DispatchRequest order = DispatchRequest.post("/orders")
 *         .header("content-type", "application/json")
 *         .body("{}")
 *         .build();
 * dispatcher.dispatch(order).thenAccept(response -> System.out.println(response.status()));
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.core.request;

import org.jspecify.annotations.NullMarked;
