package io.lambdadispatcher.core.spi;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Invokes a function once and waits for what it returns: Lambda's {@code Invoke} with the invocation type {@code RequestResponse}. Any
 * thread calls, event loops above all: must not block.
 */
@FunctionalInterface
public interface FunctionInvoker {
    /**
     * One invocation, without retries of its own once the function may have begun.
     *
     * @param function a configured function's name, never one that a client has chosen; the invoker knows which Lambda function, alias or
     *     version that is
     * @param event JSON; nobody changes it afterwards, so it need not be copied
     * @return completed on any thread. It fails with {@link InvokeException}; any other failure counts as {@link
     *     InvokeException.Reason#UNAVAILABLE}. When nobody waits for it any more, its {@code toCompletableFuture()} is cancelled, which should end
     *     the call to AWS
     */
    CompletionStage<InvokeResult> invoke(String function, byte[] event);

    /** When the dispatcher has ended; not on an event loop. */
    default void close() {}

    /**
     * What the function returned.
     *
     * @param status of {@code Invoke} itself, 200
     * @param functionError {@code Handled} or {@code Unhandled} as in {@code X-Amz-Function-Error}; {@code null} = it has returned normally
     * @param payload what it returned, JSON, or a description of its error; not to be changed by anybody
     */
    record InvokeResult(int status, @Nullable String functionError, byte[] payload) {}
}
