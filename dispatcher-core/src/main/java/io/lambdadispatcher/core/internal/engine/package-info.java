/** Puts the parts of a dispatcher together, and takes them apart again in order. */
@NullMarked
package io.lambdadispatcher.core.internal.engine;

import org.jspecify.annotations.NullMarked;
