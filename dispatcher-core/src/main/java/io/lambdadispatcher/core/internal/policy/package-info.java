/**
 * Decisions about traffic: how long a request may take, whether it is sent again, and which worker
 * its session has. Each class decides one thing from values that it is given. None has a thread, a
 * clock or I/O.
 */
@NullMarked
package io.lambdadispatcher.core.internal.policy;

import org.jspecify.annotations.NullMarked;
