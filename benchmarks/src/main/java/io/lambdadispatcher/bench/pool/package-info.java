/** The choice among workers. */
@NullMarked
package io.lambdadispatcher.bench.pool;

import org.jspecify.annotations.NullMarked;
