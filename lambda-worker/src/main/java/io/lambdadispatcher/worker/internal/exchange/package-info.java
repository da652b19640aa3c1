/**
 * What stands between handlers and whoever serves with them: requests and responses that come by no
 * worker stream, the variables that configure handlers, their life, the threads of blocking ones,
 * and the log of their failures.
 */
@NullMarked
package io.lambdadispatcher.worker.internal.exchange;

import org.jspecify.annotations.NullMarked;
