/**
 * Which of Netty's transports serves the worker's sockets, HTTP/2 as a client over them, and the
 * clocks that tell their age.
 */
@NullMarked
package io.lambdadispatcher.worker.internal.transport;

import org.jspecify.annotations.NullMarked;
