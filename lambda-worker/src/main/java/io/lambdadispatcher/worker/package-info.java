/**
 * The worker: {@link io.lambdadispatcher.worker.Worker} dials the dispatcher and serves with a handler; {@link
 * io.lambdadispatcher.worker.LambdaHandler} runs one within an AWS Lambda invoke, {@link io.lambdadispatcher.worker.WorkerMain} in a
 * process of its own. Start-up is part of somebody's request: nothing is scanned, and TLS, JSON and threads are loaded where used.
 */
@NullMarked
package io.lambdadispatcher.worker;

import org.jspecify.annotations.NullMarked;
