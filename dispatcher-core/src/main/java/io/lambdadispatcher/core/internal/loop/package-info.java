/** What belongs to one event loop: its time and its queues of deadlines. */
@NullMarked
package io.lambdadispatcher.core.internal.loop;

import org.jspecify.annotations.NullMarked;
