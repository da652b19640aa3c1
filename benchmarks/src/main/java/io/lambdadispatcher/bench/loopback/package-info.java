/** Benchmarks of complete requests over real sockets: client, dispatcher and worker in one JVM. */
@NullMarked
package io.lambdadispatcher.bench.loopback;

import org.jspecify.annotations.NullMarked;
