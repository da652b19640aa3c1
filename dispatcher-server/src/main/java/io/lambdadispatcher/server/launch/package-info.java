/** The launcher that runs workers as processes on this machine. */
@NullMarked
package io.lambdadispatcher.server.launch;

import org.jspecify.annotations.NullMarked;
