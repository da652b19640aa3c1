/** Which of Netty's transports serves the worker's sockets, and HTTP/2 as a client over them. */
@NullMarked
package io.lambdadispatcher.worker.internal.transport;

import org.jspecify.annotations.NullMarked;
