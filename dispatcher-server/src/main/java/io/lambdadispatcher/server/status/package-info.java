/**
 * The command {@code status}: prints what one dispatcher does now. It reads {@code /api} of the
 * admin port and needs nothing else of the dispatcher.
 */
@NullMarked
package io.lambdadispatcher.server.status;

import org.jspecify.annotations.NullMarked;
