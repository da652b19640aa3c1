/** The dispatcher as a program: the command line, and what starts and ends a server. */
@NullMarked
package io.lambdadispatcher.server;

import org.jspecify.annotations.NullMarked;
