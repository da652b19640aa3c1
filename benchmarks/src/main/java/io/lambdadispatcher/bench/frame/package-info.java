/**
 * Frames and heads by themselves: {@link io.lambdadispatcher.wire.worker.FrameReader}, {@link
 * io.lambdadispatcher.wire.worker.FrameWriter}, HPACK.
 */
@NullMarked
package io.lambdadispatcher.bench.frame;

import org.jspecify.annotations.NullMarked;
