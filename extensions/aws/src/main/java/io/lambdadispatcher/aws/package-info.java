/**
 * AWS Lambda. {@link io.lambdadispatcher.aws.LambdaLauncher} starts workers by invoking functions.
 * {@link io.lambdadispatcher.aws.LambdaInvoker} invokes functions for direct requests. {@link
 * io.lambdadispatcher.aws.AdvertisedAddress} finds the address that workers dial.
 */
@NullMarked
package io.lambdadispatcher.aws;

import org.jspecify.annotations.NullMarked;
