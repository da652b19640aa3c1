/** The choice of Netty's transport and TLS provider on this machine. */
@NullMarked
package io.lambdadispatcher.server.transport;

import org.jspecify.annotations.NullMarked;
