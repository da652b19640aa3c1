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
 * Which Lambda functions may be invoked, and where: what both builders of this package have in common. Not thread-safe.
 *
 * @param <B> the builder itself
 */
public abstract sealed class LambdaFunctions<B extends LambdaFunctions<B>>
        permits LambdaLauncher.Builder, LambdaInvoker.Builder {
    /** Lambda's longest life, and a minute for the answer to come. */
    private static final Duration LONGEST_INVOKE = Duration.ofMinutes(16);

    private final Map<String, String> lambdas = new HashMap<>();
    private @Nullable String region;
    private @Nullable URI endpoint;
    private int maxInvokes;

    LambdaFunctions(int maxInvokes) {
        this.maxInvokes = maxInvokes;
    }

    abstract B self();

    /**
     * @param function the dispatcher's name for it
     * @param lambda name, partial or whole ARN, with {@code :alias} or {@code :version} or without
     * @throws IllegalArgumentException if {@code lambda} is none of these
     */
    public B function(String function, String lambda) {
        lambdas.put(function, FunctionName.verified(lambda));
        return self();
    }

    /** By default the SDK's chain says. */
    public B region(String value) {
        region = value;
        return self();
    }

    /** Instead of AWS's own, e.g. an emulator's. */
    public B endpoint(URI value) {
        endpoint = value;
        return self();
    }

    /** Invokes at once, over all functions; each needs a connection. */
    public B maxInvokes(int value) {
        if (value < 1) {
            throw new IllegalArgumentException("maxInvokes: " + value + ", expected 1 or more");
        }
        maxInvokes = value;
        return self();
    }

    Map<String, String> lambdas() {
        return Map.copyOf(lambdas);
    }

    /** @throws IllegalArgumentException if it is none of those that were named */
    static String lambda(Map<String, String> lambdas, String function) {
        String lambda = lambdas.get(function);
        if (lambda == null) {
            throw new IllegalArgumentException("function: " + function + ", expected one of " + lambdas.keySet());
        }
        return lambda;
    }

    NettyNioAsyncHttpClient.Builder http() {
        return NettyNioAsyncHttpClient.builder()
                .maxConcurrency(maxInvokes)
                .maxPendingConnectionAcquires(maxInvokes)
                .connectionTimeout(Duration.ofSeconds(5))
                .readTimeout(LONGEST_INVOKE)
                .writeTimeout(Duration.ofSeconds(30))
                .tcpKeepAlive(true);
    }

    /** Tries nothing twice. */
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
