/**
 * What the connections of HTTP/1.1 and HTTP/2 clients have in common: the rules for heads at the
 * edge, forwarding headers, the watch over writes, and the limits of connections and memory. Event
 * loop of the client's connection only, unless a class says otherwise.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress.edge;

import org.jspecify.annotations.NullMarked;
