/**
 * Headers as every format on the wire has them: HTTP/2's, in one array. Not thread-safe: a head belongs to one event loop at a time.
 */
@NullMarked
package io.lambdadispatcher.wire.http;

import org.jspecify.annotations.NullMarked;
