/** Requests that come from the program the dispatcher is embedded in. */
@NullMarked
package io.lambdadispatcher.core.internal.embed;

import org.jspecify.annotations.NullMarked;
