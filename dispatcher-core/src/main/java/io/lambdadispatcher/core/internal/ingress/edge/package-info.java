/**
 * What the connections of HTTP/1.1 and HTTP/2 clients have in common: the rules for heads at the edge, forwarding headers, and the watch over writes. Event loop of the client's connection only.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress.edge;

import org.jspecify.annotations.NullMarked;
