/** Requests from the program that embeds the dispatcher. */
@NullMarked
package io.lambdadispatcher.core.internal.embed;

import org.jspecify.annotations.NullMarked;
