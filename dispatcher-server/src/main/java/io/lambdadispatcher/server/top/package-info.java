/**
 * The command {@code top}: shows in a terminal what one dispatcher does now. It reads the events of
 * the admin port and needs nothing else of the dispatcher.
 */
@NullMarked
package io.lambdadispatcher.server.top;

import org.jspecify.annotations.NullMarked;
