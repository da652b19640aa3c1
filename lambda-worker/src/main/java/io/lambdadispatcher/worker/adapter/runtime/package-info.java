/**
 * Runs an unmodified Lambda runtime of any language inside the worker. The worker starts the
 * runtime as child processes and provides the Lambda Runtime API to them (AWS Lambda developer
 * guide, "Using the Lambda runtime API for custom runtimes"). They receive requests as events and
 * return the responses.
 *
 * <pre>{@code
 * Map<String, String> variables = Map.of("LAMBDA_DISPATCHER_RUNTIME", "node runtime.mjs");
 * RuntimeHandler handler = RuntimeHandler.of(variables);
 * }</pre>
 *
 * <p><b>Threading.</b> All state of children and invocations is confined to one event loop, the
 * loop of the API. A request is gathered, and its response is read, on the event loop of the
 * request.
 *
 * <pre>
 *   RuntimeHandler ─ RequestExchange ─▶ RuntimePool ─▶ RuntimeChild ─ ApiConnection ◀── HTTP/1.1
 *   LambdaHandler  ─ RawExchange ──────▶     (queue)     (one port each)   from the child's client
 * </pre>
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.runtime;

import org.jspecify.annotations.NullMarked;
