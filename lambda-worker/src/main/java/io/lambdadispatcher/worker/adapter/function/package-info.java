/**
 * Lambda functions in Java as they are: classes that implement {@code RequestHandler} or {@code RequestStreamHandler}, or name a method, serve HTTP
 * requests as the JSON events of {@link io.lambdadispatcher.wire.event.EventFormat}. One instance serves all requests, many at once, each on a thread
 * of its own, as AWS's own runtime does it with more than one request at a time. {@code docs/guides/run-a-java-lambda-handler.md} has the rules.
 *
 * <p>Objects are converted with AWS's {@code aws-lambda-java-serialization}, which is on the class path of AWS's runtimes, and which anybody else adds.
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.function;

import org.jspecify.annotations.NullMarked;
