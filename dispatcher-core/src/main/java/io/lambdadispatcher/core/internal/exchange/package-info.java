/**
 * One request and its response on their way between a client and a worker stream: the two
 * interfaces through which the public side and the worker side see each other, and what happens
 * when either fails. Everything here runs on the client's event loop.
 */
@NullMarked
package io.lambdadispatcher.core.internal.exchange;

import org.jspecify.annotations.NullMarked;
