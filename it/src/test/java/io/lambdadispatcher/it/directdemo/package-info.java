/** A Lambda function without any code of this project, for direct requests. */
@NullMarked
package io.lambdadispatcher.it.directdemo;

import org.jspecify.annotations.NullMarked;
