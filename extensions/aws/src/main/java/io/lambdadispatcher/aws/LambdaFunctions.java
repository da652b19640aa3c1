package io.lambdadispatcher.aws;

import io.netty.channel.socket.nio.NioChannelOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import jdk.net.ExtendedSocketOptions;
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

    // A NAT gateway forgets a connection after 350 s without traffic, and an invocation has no
    // traffic for up to 15 minutes.
    private static final int KEEP_ALIVE_IDLE_SECONDS = 60;
    private static final int KEEP_ALIVE_INTERVAL_SECONDS = 30;

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
        NettyNioAsyncHttpClient.Builder http = NettyNioAsyncHttpClient.builder()
                .maxConcurrency(maxInvocations)
                .maxPendingConnectionAcquires(maxInvocations)
                .connectionTimeout(Duration.ofSeconds(5))
                .readTimeout(LONGEST_INVOKE)
                .writeTimeout(Duration.ofSeconds(30))
                .tcpKeepAlive(true);
        http.putChannelOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPIDLE), KEEP_ALIVE_IDLE_SECONDS);
        http.putChannelOption(NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPINTERVAL), KEEP_ALIVE_INTERVAL_SECONDS);
        return http;
    }

    LambdaAsyncClientBuilder client(NettyNioAsyncHttpClient.Builder http) {
        return client(LambdaAsyncClient.builder(), http);
    }
}
