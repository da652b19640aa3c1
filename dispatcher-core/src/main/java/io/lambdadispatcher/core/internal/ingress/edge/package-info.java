/**
 * The parts that HTTP/1.1 and HTTP/2 client connections share: rules for headers, forwarding
 * headers, detection of slow clients, and limits of connections and memory. Event loop of the
 * client's connection only, unless a class says otherwise.
 */
@NullMarked
package io.lambdadispatcher.core.internal.ingress.edge;

import org.jspecify.annotations.NullMarked;
