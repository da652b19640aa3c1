/**
 * A base worker without a connection: a handler of the embedding program, whose streams join the
 * pool as those of a worker do.
 */
@NullMarked
package io.lambdadispatcher.core.internal.inprocess;

import org.jspecify.annotations.NullMarked;
