package io.lambdadispatcher.aws;

import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.lambda.LambdaAsyncClient;
import software.amazon.awssdk.services.lambda.LambdaAsyncClientBuilder;

/**
 * The settings that the builders of {@link LambdaLauncher} and {@link LambdaInvoker} share: which
 * Lambda functions may be invoked, and where they are. Not thread-safe.
 *
 * @param <B> the type of the builder
 */
public abstract sealed class LambdaFunctions<B extends LambdaFunctions<B>>
        permits LambdaLauncher.Builder, LambdaInvoker.Builder {
    /** The maximum duration of an invocation, and a minute for the response to arrive. */
    private static final Duration LONGEST_INVOKE = Duration.ofMinutes(16);

    private final Map<String, String> lambdas = new HashMap<>();
    private @Nullable String region;
    private @Nullable URI endpoint;
    private int maxInvocations;

    LambdaFunctions(int maxInvocations) {
        this.maxInvocations = maxInvocations;
    }

    abstract B self();

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
     * Sets the AWS region, for example {@code eu-central-1}. Default: the SDK's default chain, for
     * example {@code AWS_REGION}.
     */
    public B region(String value) {
        region = value;
        return self();
    }

    /**
     * Sets the address of the Lambda API, for example of an emulator. Default: the endpoint of the
     * region.
     */
    public B endpoint(URI value) {
        endpoint = value;
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

    /** Creates a client that does not retry. */
    LambdaAsyncClientBuilder client(NettyNioAsyncHttpClient.Builder http) {
        LambdaAsyncClientBuilder builder = LambdaAsyncClient.builder()
                .httpClientBuilder(http)
                .overrideConfiguration(calls -> calls.retryStrategy(DefaultRetryStrategy.doNotRetry()));
        if (region != null) {
            builder.region(Region.of(region));
        }
        if (endpoint != null) {
            builder.endpointOverride(endpoint);
        }
        return builder;
    }
}
