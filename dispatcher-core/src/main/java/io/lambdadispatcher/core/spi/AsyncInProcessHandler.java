package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import java.util.concurrent.CompletionStage;

/**
 * Serves requests inside of the program that embeds the dispatcher, with code that never waits. Use
 * {@link InProcessHandler} for all other code.
 *
 * <p><b>Threading.</b> Called on event loops of the dispatcher. It must not block: a call that
 * blocks delays all other requests of the event loop, and is logged. The stage and the bodies may
 * use any thread.
 *
 * <p><b>Bodies.</b> The request's body can be subscribed to once, or not at all; what the handler
 * does not ask for is not taken from the client. The subscriber owns each buffer. The dispatcher
 * subscribes to the response's body, asks for a buffer when the client has taken the previous one,
 * and owns it then. A response to HEAD has no body, so the dispatcher discards it.
 *
 * <p><b>Errors.</b> A handler that throws or returns {@code null}, a stage or a body that fails:
 * each fails this request only. The client gets 500 or, if the response has begun, an incomplete
 * response. The exception is logged.
 *
 * <p><b>Cancellation.</b> If the client leaves, or there is no complete response within the
 * request's time, the request's body fails, the stage is cancelled with {@code
 * toCompletableFuture().cancel}, and so is the subscription of the response's body. The request
 * counts as one of the concurrency until then.
 */
@FunctionalInterface
public interface AsyncInProcessHandler {
    /** Serves a request. */
    CompletionStage<DispatchResponse> handle(DispatchRequest request);
}
