/**
 * A Lambda Runtime API inside the worker: starts the runtime of any language as child processes, gives them requests as events, and takes their
 * answers. Two kinds of threads: everything about children and invocations is confined to one event loop of its own, the loop of the API; requests are gathered and
 * answers read on the loop of the request.
 *
 * <pre>
 *   RuntimeHandler ─ RequestExchange ─▶ RuntimePool ─▶ RuntimeChild ─ ApiConnection ◀── HTTP/1.1 ── the child's runtime client
 *   LambdaHandler  ─ RawExchange ──────▶     (queue)     (one port each)
 * </pre>
 */
@NullMarked
package io.lambdadispatcher.worker.adapter.runtime;

import org.jspecify.annotations.NullMarked;
