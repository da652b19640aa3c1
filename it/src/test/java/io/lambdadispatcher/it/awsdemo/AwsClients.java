package io.lambdadispatcher.it.awsdemo;

import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.core.client.config.ClientAsyncConfiguration;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/**
 * The clients of this environment, on one HTTP client that keeps its connections. Region, credentials and endpoints
 * ({@code AWS_ENDPOINT_URL_S3}, {@code AWS_ENDPOINT_URL_DYNAMODB}) are what the SDK finds in the environment. They live as long as the process.
 */
record AwsClients(S3AsyncClient s3, DynamoDbAsyncClient dynamoDb) {
    /** Requests under way; those of all worker streams of an environment fit. */
    private static final int MOST_CONNECTIONS = 500;

    /** Made with the first request for them. */
    private static final class Holder {
        static final CompletableFuture<AwsClients> CLIENTS =
                CompletableFuture.supplyAsync(AwsClients::make, task -> new Thread(task, "aws-clients").start());
    }

    /**
     * Completed on a thread of its own, and whatever the first requests do next runs there as well: loading the SDK's classes takes longer than
     * an event loop may be silent. Later calls are answered at once.
     */
    static CompletableFuture<AwsClients> whenMade() {
        return Holder.CLIENTS;
    }

    private static AwsClients make() {
        SdkAsyncHttpClient http = NettyNioAsyncHttpClient.builder()
                .maxConcurrency(MOST_CONNECTIONS)
                .tcpKeepAlive(true)
                // An environment has a processor or two, and shares them with the worker's own event loops.
                .eventLoopGroupBuilder(SdkEventLoopGroup.builder().numberOfThreads(1))
                .build();
        // Nothing here blocks, so results need no thread of their own.
        ClientAsyncConfiguration direct = ClientAsyncConfiguration.builder()
                .advancedOption(SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, Runnable::run)
                .build();
        return new AwsClients(
                S3AsyncClient.builder()
                        .httpClient(http)
                        .asyncConfiguration(direct)
                        .forcePathStyle(true) // A stand-in for S3 has one host name, not one for each bucket.
                        .build(),
                DynamoDbAsyncClient.builder()
                        .httpClient(http)
                        .asyncConfiguration(direct)
                        .build());
    }
}
