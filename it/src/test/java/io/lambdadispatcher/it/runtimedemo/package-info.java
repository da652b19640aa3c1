/** Functions that run in AWS's Java runtime client, in a process of their own. */
@NullMarked
package io.lambdadispatcher.it.runtimedemo;

import org.jspecify.annotations.NullMarked;
