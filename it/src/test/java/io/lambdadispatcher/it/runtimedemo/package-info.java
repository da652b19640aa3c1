/** Functions that AWS's Java runtime client runs in a separate process. */
@NullMarked
package io.lambdadispatcher.it.runtimedemo;

import org.jspecify.annotations.NullMarked;
