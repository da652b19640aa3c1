/**
 * HTTP as every path needs it: headers in one array, and the one home of HTTP's rules.
 *
 * <ul>
 *   <li>{@link io.lambdadispatcher.wire.http.HopByHop} and {@link
 *       io.lambdadispatcher.wire.http.Trailers} say what is not passed on.
 *   <li>{@link io.lambdadispatcher.wire.http.HeaderSyntax} says which characters a head may have.
 *   <li>{@link io.lambdadispatcher.wire.http.StatusCode}, {@link
 *       io.lambdadispatcher.wire.http.Methods} and {@link
 *       io.lambdadispatcher.wire.http.ContentLength} say what a message means.
 *   <li>{@link io.lambdadispatcher.wire.http.TextAnswer} makes the dispatcher's and worker's own
 *       responses.
 * </ul>
 *
 * Not thread-safe except where a type says so: a head belongs to one event loop at a time.
 */
@NullMarked
package io.lambdadispatcher.wire.http;

import org.jspecify.annotations.NullMarked;
