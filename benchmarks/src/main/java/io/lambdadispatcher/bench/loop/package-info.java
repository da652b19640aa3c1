/** Going from one event loop to another. */
@NullMarked
package io.lambdadispatcher.bench.loop;

import org.jspecify.annotations.NullMarked;
