/**
 * What both ends of a worker connection, and the public side, need of HTTP/2 beyond Netty's codec:
 * DATA that is read before its frame is complete and written by reference without promises, one
 * flush per turn of the event loop, liveness. {@link io.lambdadispatcher.wire.http2.Http2Assembly}
 * puts it all together. Everything is confined to the channel's event loop.
 */
@NullMarked
package io.lambdadispatcher.wire.http2;

import org.jspecify.annotations.NullMarked;
