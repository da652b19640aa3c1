package io.lambdadispatcher.aws;

import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttribute;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.services.lambda.LambdaAsyncClient;
import software.amazon.awssdk.services.lambda.LambdaAsyncClientBuilder;
import software.amazon.awssdk.services.lambda.model.InvocationType;
import software.amazon.awssdk.services.lambda.model.InvokeRequest;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;
import software.amazon.awssdk.services.lambda.model.LogType;
import software.amazon.awssdk.services.lambda.model.ResourceNotFoundException;

/**
 * Starts workers on AWS Lambda. Each worker is one synchronous invocation, which stays open until
 * the worker ends, and whose result says how it ended. The launcher retries nothing, because the
 * dispatcher decides that. It invokes only the functions that its builder names.
 *
 * <pre>{@code
 * LambdaLauncher launcher = LambdaLauncher.builder()
 *         .region("eu-central-1")
 *         .function("images", "images-function:live")
 *         .build();
 * launcher.verify();
 * }</pre>
 *
 * <p><b>Permissions.</b> Credentials come from the SDK's default chain. They need {@code
 * lambda:InvokeFunction} on the functions. To follow an alias, see {@link #version}, or the version
 * of a base, see {@link #versionLike}, they also need {@code lambda:GetAlias}, and {@code
 * lambda:InvokeFunction} on all versions of the function.
 *
 * <p><b>Threading.</b> Any thread. Requests are signed and sent on one thread of the launcher.
 */
public final class LambdaLauncher implements WorkerLauncher {
    private static final Logger log = LoggerFactory.getLogger(LambdaLauncher.class);

    /**
     * Init-only invocations are held, so that invocations that are sent together get different
     * environments.
     */
    private static final int WARM_UP_HOLD_MILLIS = 500;

    /** The limit of requests that start nothing. Otherwise, that of an invocation would hold. */
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

    private final Map<String, String> lambdas;
    /**
     * Signs and sends requests. That takes milliseconds, which would block an event loop for too
     * long, and longer if credentials must be fetched.
     */
    private final ExecutorService caller =
            Executors.newSingleThreadExecutor(new DefaultThreadFactory("lambda-caller", true));

    private final EventLoopGroup eventLoop = AwsLocation.eventLoop("lambda");
    private final LambdaAsyncClient client;
    /** The versions that this launcher may invoke, with the name of their function. */
    private final Set<String> permitted = ConcurrentHashMap.newKeySet();

    private final Set<Invoke> underWay = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean closed = new AtomicBoolean();

    private LambdaLauncher(Builder from) {
        lambdas = from.lambdas();
        client = client(from, eventLoop);
    }

    private static LambdaAsyncClient client(Builder from, EventLoopGroup eventLoop) {
        NettyNioAsyncHttpClient.Builder http = from.http()
                .connectionAcquisitionTimeout(Duration.ofSeconds(30))
                .connectionMaxIdleTime(Duration.ofSeconds(30))
                .eventLoopGroup(AwsLocation.shared(eventLoop));
        LambdaAsyncClientBuilder builder = from.client(http).asyncConfiguration(AwsLocation::complete);
        return builder.overrideConfiguration(builder.overrideConfiguration().toBuilder()
                        .addExecutionInterceptor(new Sending())
                        .build())
                .build();
    }

    /**
     * Notes when the client has its credentials and has signed an invocation. What fails before
     * that has not reached Lambda, and its exceptions are of any type.
     */
    private static final class Sending implements ExecutionInterceptor {
        static final ExecutionAttribute<AtomicBoolean> BEGUN = new ExecutionAttribute<>("LambdaLauncher.sending");

        @Override
        public void beforeTransmission(Context.BeforeTransmission context, ExecutionAttributes attributes) {
            AtomicBoolean begun = attributes.getAttribute(BEGUN);
            if (begun != null) {
                begun.set(true);
            }
        }
    }

    /** Returns a builder without functions. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Invokes the Lambda function of the request. All failures are reported by {@link
     * LaunchedWorker#exit}, except a function that is not named.
     *
     * <p>{@link LaunchedWorker#kill} closes the connection, but Lambda cannot end an invocation.
     * The worker runs until it drains by itself, at the latest until the function's timeout.
     *
     * @throws IllegalArgumentException if the builder did not name the function
     */
    @Override
    public LaunchedWorker launch(LaunchRequest request) {
        String lambda = lambda(request.function());
        Invoke invoke = new Invoke();
        underWay.add(invoke);
        invoke.exit.whenComplete((ended, never) -> underWay.remove(invoke));
        try {
            caller.execute(() ->
                    invoke.start(() -> call(lambda, request.version(), LaunchPayload.json(request), invoke.sending)));
        } catch (RejectedExecutionException e) {
            invoke.exit.complete(new WorkerExit(Cause.FAILED, "the launcher is closed"));
        }
        return invoke;
    }

    /**
     * Invokes the function. Failures are reported only by the future.
     *
     * @param version empty = the one that {@code lambda} names
     * @param sending becomes true when the request may reach Lambda
     */
    private CompletableFuture<InvokeResponse> call(
            String lambda, String version, String payload, AtomicBoolean sending) {
        try {
            return client.invoke(invoke -> qualified(invoke, lambda, version)
                    .overrideConfiguration(of -> of.putExecutionAttribute(Sending.BEGUN, sending))
                    .invocationType(InvocationType.REQUEST_RESPONSE)
                    .logType(LogType.TAIL)
                    .payload(SdkBytes.fromUtf8String(payload)));
        } catch (RuntimeException e) {
            // The client throws before it sends, for example after it was closed.
            return CompletableFuture.failedFuture(e);
        }
    }

    private static InvokeRequest.Builder qualified(InvokeRequest.Builder invoke, String lambda, String version) {
        return version.isEmpty()
                ? invoke.functionName(lambda)
                : invoke.functionName(FunctionName.unqualified(lambda)).qualifier(version);
    }

    /**
     * Asks Lambda which version the function's alias has. It does so only if the function was named
     * with an alias. The weights of an alias do not count. For each new version, it also asks
     * whether that version may be invoked, because launches name it while the version changes. That
     * starts nothing. Does not block.
     *
     * @return the number of the version, or an empty text if the function has no alias. Fails if
     *     Lambda cannot be reached or does not answer within 10 s, or if a permission is missing
     * @throws IllegalArgumentException if the builder did not name the function
     */
    @Override
    public CompletionStage<String> version(String function) {
        String lambda = lambda(function);
        String alias = FunctionName.alias(lambda);
        if (alias == null) {
            return CompletableFuture.completedStage("");
        }
        return ofAlias(FunctionName.unqualified(lambda), alias);
    }

    /**
     * Returns the version that external workers state if they state its number, or the version of
     * the alias whose name they state. As with {@link #version}, Lambda is asked whether it may be
     * invoked. That starts nothing. Does not block.
     *
     * @return the number of the version, or an empty text if the function has no such version or
     *     alias. Fails as {@link #version} does
     * @throws IllegalArgumentException if the builder did not name the function
     */
    @Override
    public CompletionStage<String> versionLike(String function, String stated) {
        String name = FunctionName.unqualified(lambda(function));
        if (!FunctionName.canQualify(stated)) {
            return CompletableFuture.completedStage("");
        }
        return (FunctionName.isVersion(stated) ? invocable(name, stated) : ofAlias(name, stated))
                .exceptionallyCompose(error ->
                        isMissing(error) ? CompletableFuture.completedStage("") : CompletableFuture.failedStage(error));
    }

    private static boolean isMissing(Throwable error) {
        return InvokeOutcome.unwrapped(error).getCause() instanceof ResourceNotFoundException;
    }

    private CompletionStage<String> ofAlias(String name, String alias) {
        return asked(
                        "GetAlias of " + name + ":" + alias,
                        () -> client.getAlias(
                                get -> get.functionName(name).name(alias).overrideConfiguration(LambdaLauncher::brief)))
                .thenCompose(answer -> permitted(name, answer.functionVersion()));
    }

    private CompletionStage<String> permitted(String name, String version) {
        return permitted.contains(name + ":" + version)
                ? CompletableFuture.completedStage(version)
                : invocable(name, version);
    }

    /** Asks Lambda whether a version exists and may be invoked. */
    private CompletionStage<String> invocable(String name, String version) {
        String both = name + ":" + version;
        return asked(
                        "Invoke of " + both,
                        () -> client.invoke(dryRun -> qualified(dryRun, name, version)
                                .overrideConfiguration(LambdaLauncher::brief)
                                .invocationType(InvocationType.DRY_RUN)))
                .thenApply(answer -> {
                    permitted.add(both);
                    return version;
                });
    }

    private static void brief(AwsRequestOverrideConfiguration.Builder of) {
        of.apiCallTimeout(ANSWER_TIMEOUT);
    }

    /** Sends a request on the launcher's thread. An error becomes one line. */
    private <T> CompletionStage<T> asked(String what, Supplier<CompletableFuture<T>> request) {
        return CompletableFuture.supplyAsync(request, caller)
                .thenCompose(Function.identity())
                .exceptionallyCompose(error -> CompletableFuture.failedStage(new IllegalStateException(
                        what + ": " + InvokeOutcome.of(error).detail(), InvokeOutcome.unwrapped(error))));
    }

    private String lambda(String function) {
        return LambdaFunctions.lambda(lambdas, function);
    }

    /**
     * Asks Lambda whether each function exists and may be invoked. A dry run starts nothing and
     * costs nothing. Problems are logged as warnings. It also initialises the client, so the first
     * launches are faster. Does not block.
     *
     * @return completes when all answers have arrived, at most 10 s after they were sent. Problems
     *     with the functions do not make it fail
     */
    public CompletableFuture<Void> verify() {
        return CompletableFuture.allOf(lambdas.values().stream()
                .map(lambda -> CompletableFuture.supplyAsync(
                                () -> client.invoke(dryRun -> dryRun.functionName(lambda)
                                        .overrideConfiguration(LambdaLauncher::brief)
                                        .invocationType(InvocationType.DRY_RUN)),
                                caller)
                        .thenCompose(Function.identity())
                        .handle((response, error) -> {
                            if (error != null) {
                                log.warn(
                                        "{} cannot be invoked: {}",
                                        lambda,
                                        InvokeOutcome.of(error).detail());
                            }
                            return lambda;
                        }))
                .toArray(CompletableFuture<?>[]::new));
    }

    /**
     * Sends {@code count} concurrent init-only invocations, each of which is held for up to 0.5 s.
     * The worker library answers them without dialling in. The first failure is logged.
     *
     * @throws IllegalArgumentException if the builder did not name the function
     */
    @Override
    public void warmUp(String function, int count) {
        String lambda = lambda(function);
        String payload = "{\"warmUp\":true,\"holdMillis\":" + WARM_UP_HOLD_MILLIS + "}";
        try {
            caller.execute(() -> warmUp(lambda, payload, count));
        } catch (RejectedExecutionException e) {
            log.debug("ignored a warm-up of {}, because the launcher is closed", lambda);
        }
    }

    private void warmUp(String lambda, String payload, int count) {
        AtomicBoolean told = new AtomicBoolean();
        for (int i = 0; i < count; i++) {
            call(lambda, "", payload, new AtomicBoolean()).whenComplete((response, error) -> {
                WorkerExit exit = error == null ? InvokeOutcome.of(response) : InvokeOutcome.of(error);
                // All fail for nearly the same reason, so one line is enough.
                if (exit.failed() && told.compareAndSet(false, true)) {
                    log.warn("warm-up of {} has failed: {}", lambda, exit.detail());
                }
            });
        }
    }

    /**
     * Waits up to {@code grace} for the invocations to return, then closes the connections to AWS.
     * Launches fail from the beginning of this. The workers of invocations that are left run until
     * they drain by themselves. May block a few seconds longer than {@code grace}. Further calls
     * have no effect.
     */
    @Override
    public void close(Duration grace) {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        // Further launches fail, so no invocation is missing here.
        caller.shutdown();
        List<Invoke> left = List.copyOf(underWay);
        CompletableFuture<?>[] exits = left.stream().map(invoke -> invoke.exit).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(exits).get(grace.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            log.info(
                    "{} not returned yet",
                    PrintableText.counted(
                            left.stream().filter(i -> !i.exit.isDone()).count(),
                            "Lambda invocation has",
                            "Lambda invocations have"));
        }
        left.forEach(Invoke::kill);
        caller.shutdownNow();
        client.close();
        AwsLocation.close(eventLoop);
    }

    /**
     * One invocation, from before it is sent until its result is known. Any thread, without a lock:
     * the start may take as long as fetching credentials, and an event loop that calls {@link
     * #kill} must not wait for that.
     */
    static final class Invoke implements LaunchedWorker {
        final CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
        final AtomicBoolean sending = new AtomicBoolean();

        /** The client's own future, because only cancelling this one closes the connection. */
        private volatile @Nullable CompletableFuture<InvokeResponse> call;

        void start(Supplier<CompletableFuture<InvokeResponse>> client) {
            if (exit.isDone()) {
                return; // the invocation has been killed
            }
            CompletableFuture<InvokeResponse> started = client.get();
            call = started;
            started.whenComplete(
                    (response, error) -> exit.complete(error == null ? InvokeOutcome.of(response) : failed(error)));
            if (exit.isDone()) {
                // Killed after the check above.
                started.cancel(true);
            }
        }

        private WorkerExit failed(Throwable error) {
            return sending.get() ? InvokeOutcome.of(error) : InvokeOutcome.unsent(error);
        }

        @Override
        public CompletableFuture<WorkerExit> exit() {
            return exit.copy();
        }

        /**
         * Closes the connection. Lambda cannot end an invocation, so the worker runs until it has
         * nobody to serve, at the latest until its timeout.
         */
        @Override
        public void kill() {
            exit.complete(new WorkerExit(Cause.LOST, "terminated by the dispatcher"));
            CompletableFuture<InvokeResponse> started = call;
            if (started != null) {
                started.cancel(true);
            }
        }
    }

    /**
     * Builds a {@link LambdaLauncher}. At most 5000 concurrent invocations by default. Not
     * thread-safe.
     */
    public static final class Builder extends LambdaFunctions<Builder> {
        private Builder() {
            super(5000);
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * Returns the launcher. Nothing is sent yet.
         *
         * @throws software.amazon.awssdk.core.exception.SdkClientException if there is no region
         */
        public LambdaLauncher build() {
            return new LambdaLauncher(this);
        }
    }
}
