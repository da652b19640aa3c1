/** Which of Netty's transports serves the worker's sockets. */
@NullMarked
package io.lambdadispatcher.worker.transport;

import org.jspecify.annotations.NullMarked;
