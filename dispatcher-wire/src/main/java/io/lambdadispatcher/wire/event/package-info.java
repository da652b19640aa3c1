/**
 * HTTP requests as AWS's JSON events and what functions return as HTTP responses, in each shape
 * that AWS has. Bytes in, bytes out: no I/O, no threads. {@code docs/reference/direct-requests.md}
 * has the rules and their sources.
 */
@NullMarked
package io.lambdadispatcher.wire.event;

import org.jspecify.annotations.NullMarked;
