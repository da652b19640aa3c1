/**
 * AWS Lambda: starts workers by invoking functions ({@link io.lambdadispatcher.aws.LambdaLauncher}), and invokes them for direct
 * requests ({@link io.lambdadispatcher.aws.LambdaInvoker}). The only package that sees the AWS SDK.
 */
@NullMarked
package io.lambdadispatcher.aws;

import org.jspecify.annotations.NullMarked;
