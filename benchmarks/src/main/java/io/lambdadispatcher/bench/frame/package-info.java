/** Frames and heads by themselves: {@link io.lambdadispatcher.wire.FrameReader}, {@link io.lambdadispatcher.wire.FrameWriter}, HPACK. */
@NullMarked
package io.lambdadispatcher.bench.frame;

import org.jspecify.annotations.NullMarked;
