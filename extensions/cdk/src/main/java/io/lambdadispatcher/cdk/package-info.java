/**
 * Deploys dispatchers with the AWS CDK. {@link io.lambdadispatcher.cdk.LambdaDispatcher} is a
 * construct for a stack.
 */
@NullMarked
package io.lambdadispatcher.cdk;

import org.jspecify.annotations.NullMarked;
