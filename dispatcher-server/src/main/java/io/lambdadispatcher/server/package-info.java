/** The dispatcher as a program: its command line, and the start and the stop of a server. */
@NullMarked
package io.lambdadispatcher.server;

import org.jspecify.annotations.NullMarked;
