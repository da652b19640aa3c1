package io.lambdadispatcher.aws;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.services.lambda.LambdaAsyncClient;
import software.amazon.awssdk.services.lambda.LambdaAsyncClientBuilder;

/**
 * The settings that the builders of {@link LambdaLauncher} and {@link LambdaInvoker} share: which
 * Lambda functions may be invoked, and how many concurrently. Not thread-safe.
 *
 * @param <B> the type of the builder
 */
public abstract sealed class LambdaFunctions<B extends LambdaFunctions<B>> extends AwsLocation<B>
        permits LambdaLauncher.Builder, LambdaInvoker.Builder {
    /** The maximum duration of an invocation, and a minute for the response to arrive. */
    private static final Duration LONGEST_INVOKE = Duration.ofMinutes(16);

    private final Map<String, String> lambdas = new HashMap<>();
    private int maxInvocations;

    LambdaFunctions(int maxInvocations) {
        this.maxInvocations = maxInvocations;
    }

    /**
     * Adds a function that may be invoked. Replaces the previous Lambda function of the same name.
     *
     * @param function the name that the dispatcher uses
     * @param lambda the name, partial ARN or complete ARN of the Lambda function, with or without
     *     {@code :alias} or {@code :version}, at most 170 characters
     * @throws IllegalArgumentException if {@code lambda} is none of these
     */
    public B function(String function, String lambda) {
        lambdas.put(function, FunctionName.verified(lambda));
        return self();
    }

    /**
     * Sets the maximum number of concurrent invocations of all functions together, 1 or more. Each
     * needs a connection. The same number of further invocations can wait for a connection. The
     * builders name their defaults.
     *
     * @throws IllegalArgumentException if the value is less than 1
     */
    public B maxInvocations(int value) {
        if (value < 1) {
            throw new IllegalArgumentException("maxInvocations: " + value + ", expected 1 or more");
        }
        maxInvocations = value;
        return self();
    }

    Map<String, String> lambdas() {
        return Map.copyOf(lambdas);
    }

    /** @throws IllegalArgumentException if the builder did not name the function */
    static String lambda(Map<String, String> lambdas, String function) {
        String lambda = lambdas.get(function);
        if (lambda == null) {
            throw new IllegalArgumentException("function: " + function + ", expected one of " + lambdas.keySet());
        }
        return lambda;
    }

    NettyNioAsyncHttpClient.Builder http() {
        return NettyNioAsyncHttpClient.builder()
                .maxConcurrency(maxInvocations)
                .maxPendingConnectionAcquires(maxInvocations)
                .connectionTimeout(Duration.ofSeconds(5))
                .readTimeout(LONGEST_INVOKE)
                .writeTimeout(Duration.ofSeconds(30))
                .tcpKeepAlive(true);
    }

    LambdaAsyncClientBuilder client(NettyNioAsyncHttpClient.Builder http) {
        return client(LambdaAsyncClient.builder(), http);
    }
}
