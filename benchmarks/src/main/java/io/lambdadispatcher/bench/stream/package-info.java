/** Whole exchanges as a worker stream carries them, without a transport. */
@NullMarked
package io.lambdadispatcher.bench.stream;

import org.jspecify.annotations.NullMarked;
