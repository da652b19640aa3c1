/**
 * Interfaces that a program can implement: where workers run, how a function is invoked directly,
 * which function serves a request, what error responses look like, and where the dispatchers of a
 * fleet keep what they share.
 *
 * <pre>{@code
 * RouteTarget images = RouteTarget.of("images");
 * RouteTarget api = RouteTarget.of("api");
 * RequestRouter router =
 *         headers -> headers.path().toString().startsWith("/images/") ? images : api;
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.core.spi;

import org.jspecify.annotations.NullMarked;
