/**
 * Benchmarks of the worker protocol's frames and headers: {@link
 * io.lambdadispatcher.wire.worker.FrameReader}, {@link io.lambdadispatcher.wire.worker.FrameWriter}
 * and HPACK.
 */
@NullMarked
package io.lambdadispatcher.bench.frame;

import org.jspecify.annotations.NullMarked;
