/** Which of Netty's transports and TLS providers serve sockets here, and why. */
@NullMarked
package io.lambdadispatcher.server.transport;

import org.jspecify.annotations.NullMarked;
