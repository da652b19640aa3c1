/**
 * Stands in for AWS Lambda on the loopback: the Invoke API over execution environments that serve
 * one invocation at a time, start cold, are limited in number and in what they take and return.
 * Users' code in them is real: {@code lambda-worker}'s handler, which dials back and serves as a
 * worker, or {@link io.lambdadispatcher.bench.lambda.EventFunction}, which takes a load balancer's
 * events one by one.
 */
@NullMarked
package io.lambdadispatcher.bench.lambda;

import org.jspecify.annotations.NullMarked;
