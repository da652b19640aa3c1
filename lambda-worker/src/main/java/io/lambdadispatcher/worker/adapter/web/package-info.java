/**
 * Passes requests unmodified to a web application on the same host: {@link
 * io.lambdadispatcher.worker.adapter.web.WebHandler}. Each event loop of the worker has its own
 * connections to the application, so a request never changes threads.
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.web;

import org.jspecify.annotations.NullMarked;
