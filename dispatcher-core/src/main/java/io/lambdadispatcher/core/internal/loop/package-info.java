/** Event loops: time, and crossing from one to another in batches. */
@NullMarked
package io.lambdadispatcher.core.internal.loop;

import org.jspecify.annotations.NullMarked;
