/**
 * An imitation of AWS Lambda on loopback: the Invoke API and execution environments. An environment
 * starts cold and serves one invocation at a time. The number of environments and the size of
 * payloads are limited. The user code in an environment is real: either {@code lambda-worker}'s
 * handler, which connects to the dispatcher and serves as a worker, or {@link
 * io.lambdadispatcher.bench.lambda.EventFunction}, which serves a load balancer's events.
 */
@NullMarked
package io.lambdadispatcher.bench.lambda;

import org.jspecify.annotations.NullMarked;
