/**
 * The worker. {@link io.lambdadispatcher.worker.Worker} dials the dispatcher and serves requests
 * with a handler. {@link io.lambdadispatcher.worker.LambdaHandler} runs a worker in each AWS Lambda
 * invocation that is a launch, and {@link io.lambdadispatcher.worker.WorkerMain} runs one in its
 * own process.
 *
 * <p>The startup of a worker can delay a client's request. So nothing is scanned, and TLS, JSON and
 * threads are loaded when they are first used.
 */
@NullMarked
package io.lambdadispatcher.worker;

import org.jspecify.annotations.NullMarked;
