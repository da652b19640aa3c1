package io.lambdadispatcher.aws;

import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.InvokeException;
import io.lambdadispatcher.core.spi.InvokeException.Reason;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.exception.ApiCallTimeoutException;
import software.amazon.awssdk.services.lambda.LambdaAsyncClient;
import software.amazon.awssdk.services.lambda.model.InvocationType;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;
import software.amazon.awssdk.services.lambda.model.LambdaException;
import software.amazon.awssdk.services.lambda.model.RequestTooLargeException;

/**
 * Invokes Lambda functions for direct requests. It retries nothing, and invokes only the functions
 * that its builder names.
 *
 * <pre>{@code
 * LambdaInvoker invoker = LambdaInvoker.builder()
 *         .region("eu-central-1")
 *         .function("images", "images-function:live")
 *         .build();
 * }</pre>
 *
 * <p><b>Permissions.</b> Credentials come from the SDK's default chain. They need {@code
 * lambda:InvokeFunction} on the functions.
 *
 * <p><b>Threading.</b> Any thread. Requests are signed and sent on two threads of the invoker.
 */
public final class LambdaInvoker implements FunctionInvoker {
    private static final int CALLERS = 2;

    private final Map<String, String> lambdas;
    private final LambdaAsyncClient client;

    /** Hash, sign and send events of up to 6 MB, which would block an event loop for too long. */
    private final ExecutorService callers =
            Executors.newFixedThreadPool(CALLERS, new DefaultThreadFactory("lambda-invoker", true));

    private LambdaInvoker(Builder from) {
        lambdas = from.lambdas();
        // Lambda ends an invocation at the timeout of the function, so the client has none for the
        // call but the one of the connection.
        client = from.client(from.http().connectionAcquisitionTimeout(Duration.ofSeconds(10)))
                .build();
    }

    /** Returns a builder without functions. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Invokes the Lambda function of this name.
     *
     * @throws IllegalArgumentException if the builder did not name the function
     */
    @Override
    public CompletionStage<InvokeResult> invoke(String function, byte[] event) {
        String lambda = LambdaFunctions.lambda(lambdas, function);
        CompletableFuture<InvokeResult> result = new CompletableFuture<>();
        try {
            callers.execute(() -> call(lambda, event, result));
        } catch (RejectedExecutionException e) {
            result.completeExceptionally(new InvokeException(Reason.UNAVAILABLE, "the invoker is closed", e));
        }
        return result;
    }

    private void call(String lambda, byte[] event, CompletableFuture<InvokeResult> result) {
        CompletableFuture<InvokeResponse> call;
        try {
            call = client.invoke(invoke -> invoke.functionName(lambda)
                    .invocationType(InvocationType.REQUEST_RESPONSE)
                    .payload(SdkBytes.fromByteArrayUnsafe(event)));
        } catch (RuntimeException | Error e) {
            result.completeExceptionally(exception(lambda, e));
            return;
        }
        call.whenComplete((response, error) -> {
            if (error == null) {
                result.complete(result(response));
            } else {
                result.completeExceptionally(exception(lambda, error));
            }
        });
    }

    private static InvokeResult result(InvokeResponse response) {
        byte[] payload =
                response.payload() == null ? new byte[0] : response.payload().asByteArrayUnsafe();
        return new InvokeResult(response.statusCode(), response.functionError(), payload);
    }

    private static InvokeException exception(String lambda, Throwable error) {
        Throwable cause = InvokeOutcome.unwrapped(error);
        return new InvokeException(reason(cause), lambda + ": " + PrintableText.ofFailure(cause), cause);
    }

    private static Reason reason(Throwable cause) {
        if (cause instanceof RequestTooLargeException) {
            return Reason.TOO_LARGE;
        }
        if (cause instanceof LambdaException answer) {
            return ofStatus(answer);
        }
        return cause instanceof TimeoutException || cause instanceof ApiCallTimeoutException
                ? Reason.TIMED_OUT
                : Reason.UNAVAILABLE;
    }

    private static Reason ofStatus(LambdaException answer) {
        return switch (answer.statusCode()) {
            case 404 -> Reason.NOT_FOUND;
            case 413 -> Reason.TOO_LARGE;
            default ->
                switch (InvokeOutcome.cause(answer)) {
                    case THROTTLED -> Reason.THROTTLED;
                    case NOT_READY -> Reason.NOT_READY;
                    case REFUSED -> Reason.REFUSED;
                    default -> Reason.UNAVAILABLE;
                };
        };
    }

    /** Closes the connections to AWS. Call it when no invocation is needed any more. */
    @Override
    public void close() {
        callers.shutdownNow();
        client.close();
    }

    /**
     * Builds a {@link LambdaInvoker}. At most 1000 concurrent invocations by default. Not
     * thread-safe.
     */
    public static final class Builder extends LambdaFunctions<Builder> {
        private Builder() {
            super(1000);
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * Returns the invoker. Nothing is sent yet.
         *
         * @throws software.amazon.awssdk.core.exception.SdkClientException if there is no region
         */
        public LambdaInvoker build() {
            return new LambdaInvoker(this);
        }
    }
}
