/** AWS Lambda: starts workers by invoking functions. The only package that sees the AWS SDK. */
@NullMarked
package io.lambdadispatcher.core.lambda;

import org.jspecify.annotations.NullMarked;
