/**
 * Relays requests to a web application on loopback, unmodified: {@link io.lambdadispatcher.worker.adapter.web.WebHandler}. Its connections to the
 * application belong to the event loop of the worker connection that the request came by, so that no request crosses threads.
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.web;

import org.jspecify.annotations.NullMarked;
