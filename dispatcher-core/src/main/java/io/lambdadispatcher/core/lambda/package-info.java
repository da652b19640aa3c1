/**
 * AWS Lambda: starts workers by invoking functions ({@link io.lambdadispatcher.core.lambda.LambdaLauncher}), and invokes them for direct
 * requests ({@link io.lambdadispatcher.core.lambda.LambdaInvoker}). The only package that sees the AWS SDK.
 */
@NullMarked
package io.lambdadispatcher.core.lambda;

import org.jspecify.annotations.NullMarked;
