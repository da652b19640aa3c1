/**
 * Runs unmodified Lambda functions in Java. A class that implements {@code RequestHandler} or
 * {@code RequestStreamHandler}, or a method of any class, serves HTTP requests, which it receives
 * as JSON events. {@code docs/guides/run-a-java-lambda-handler.md} describes the rules.
 *
 * <pre>{@code
 * class Orders implements RequestHandler<Map<String, Object>, String> {
 *     public String handleRequest(Map<String, Object> event, Context context) {
 *         return "hello";
 *     }
 * }
 * FunctionHandler handler = FunctionHandler.of(Orders.class, null, System.getenv());
 * }</pre>
 *
 * <p>One instance serves all requests concurrently, each on its own thread. Objects are converted
 * with AWS's {@code aws-lambda-java-serialization}. AWS's Java runtimes contain it. Elsewhere, add
 * it to the class path.
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.function;

import org.jspecify.annotations.NullMarked;
