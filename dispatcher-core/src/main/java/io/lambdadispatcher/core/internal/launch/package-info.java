/** Which workers there are, which there should be, and starting the difference. */
@NullMarked
package io.lambdadispatcher.core.internal.launch;

import org.jspecify.annotations.NullMarked;
