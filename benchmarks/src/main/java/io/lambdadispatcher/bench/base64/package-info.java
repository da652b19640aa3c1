/** The same request and response through a Lambda event with base64 in it, and through a worker stream: both ends, without sockets. */
@NullMarked
package io.lambdadispatcher.bench.base64;

import org.jspecify.annotations.NullMarked;
