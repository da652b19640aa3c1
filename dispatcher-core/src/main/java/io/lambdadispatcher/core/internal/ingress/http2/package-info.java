/**
 * A client's HTTP/2 connection (RFC 9113) and its streams. Event loop of the connection only.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress.http2;

import org.jspecify.annotations.NullMarked;
