/**
 * A client's HTTP/1.1 connection (RFC 9112) and its exchanges, including WebSockets. Event loop of
 * the connection only.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress.http1;

import org.jspecify.annotations.NullMarked;
