/** Holds the parts of a dispatcher's construction and of changes to its options. */
@NullMarked
package io.lambdadispatcher.core.internal.assembly;

import org.jspecify.annotations.NullMarked;
