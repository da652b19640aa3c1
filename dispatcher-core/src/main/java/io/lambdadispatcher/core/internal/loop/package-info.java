/**
 * What event loops need and no one else: their time, their queues of deadlines, and a log that
 * costs them little.
 */
@NullMarked
package io.lambdadispatcher.core.internal.loop;

import org.jspecify.annotations.NullMarked;
