/**
 * Sends the traces of the dispatcher to a collector. Its classes are loaded only if tracing is on.
 */
@NullMarked
package io.lambdadispatcher.server.tracing;

import org.jspecify.annotations.NullMarked;
