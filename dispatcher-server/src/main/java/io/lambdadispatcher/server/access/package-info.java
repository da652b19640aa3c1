/** One line for each request, written by a thread of its own. */
@NullMarked
package io.lambdadispatcher.server.access;

import org.jspecify.annotations.NullMarked;
