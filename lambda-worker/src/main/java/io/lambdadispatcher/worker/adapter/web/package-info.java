/**
 * Passes requests unmodified to a web application on the same host. Each event loop of the worker
 * has its own connections to the application, so a request never changes threads.
 *
 * <pre>{@code
 * Handler handler = new WebHandler(WebConfig.builder(8080).command("exec ./app").build());
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.web;

import org.jspecify.annotations.NullMarked;
