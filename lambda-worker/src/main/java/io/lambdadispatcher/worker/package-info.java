/**
 * The worker. {@link io.lambdadispatcher.worker.Worker} connects to the dispatcher and serves
 * requests with a handler. {@link io.lambdadispatcher.worker.LambdaHandler} runs a worker in each
 * AWS Lambda invocation that is a launch, and {@link io.lambdadispatcher.worker.WorkerMain} runs
 * one in its own process.
 *
 * <pre>{@code
 * InetSocketAddress address = InetSocketAddress.createUnresolved("dispatcher.internal", 8444);
 * Worker worker = new Worker(
 *                 WorkerConfig.of("hello", "sixteen bytes at least", address),
 *                 (request, response) -> response.respond(200, "hello"))
 *         .start();
 * }</pre>
 *
 * <p>The startup of a worker can delay a client's request. Therefore, the worker scans no classes,
 * and loads TLS, JSON and threads when they are first used.
 */
@NullMarked
package io.lambdadispatcher.worker;

import org.jspecify.annotations.NullMarked;
