package io.lambdadispatcher.core.spi;

import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Invokes a function once and returns its result, as Lambda's {@code Invoke} does with the
 * invocation type {@code RequestResponse}.
 *
 * <p><b>Threading.</b> Called on event loops and other threads. Must not block, except in {@link
 * #close}.
 */
@FunctionalInterface
public interface FunctionInvoker {
    /**
     * Invokes the function. It must not retry once the function may have begun.
     *
     * @param function the name of a configured function, never chosen by a client. The invoker
     *     knows which Lambda function, alias or version that is
     * @param event the event as JSON. The array does not change afterwards, so it need not be
     *     copied
     * @return a stage that completes on any thread when the function has ended, also if the client
     *     has gone. It must complete in every case, because the invocation counts against {@link
     *     io.lambdadispatcher.core.options.DirectOptions#maxConcurrentInvocations} until then. It
     *     fails with {@link InvokeException}. Any other failure counts as {@link
     *     InvokeException.Reason#UNAVAILABLE}
     */
    CompletionStage<InvokeResult> invoke(String function, byte[] event);

    /**
     * Closes the invoker. Called when the dispatcher closes and no request waits for the invoker
     * any more, on a thread that may block.
     */
    default void close() {}

    /**
     * The result of an invocation.
     *
     * @param status the status of {@code Invoke} itself, which is 200
     * @param functionError {@code Handled} or {@code Unhandled}, from {@code X-Amz-Function-Error};
     *     {@code null} if the function returned normally
     * @param payload the JSON that the function returned, or a description of its error. The array
     *     must not be changed
     */
    record InvokeResult(int status, @Nullable String functionError, byte[] payload) {}
}
