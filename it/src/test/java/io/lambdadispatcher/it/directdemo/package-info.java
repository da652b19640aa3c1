/** A Lambda function that knows nothing of the dispatcher, for the direct path. */
@NullMarked
package io.lambdadispatcher.it.directdemo;

import org.jspecify.annotations.NullMarked;
