package com.example.aws;

import io.lambdadispatcher.worker.aws.AwsConnections;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import software.amazon.awssdk.core.client.config.ClientAsyncConfiguration;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/**
 * The SDK's clients, on one shared pool of connections. The SDK finds region, credentials and
 * endpoints ({@code AWS_ENDPOINT_URL_S3}, {@code AWS_ENDPOINT_URL_DYNAMODB}) in the environment.
 * The clients live as long as the process.
 */
final class AwsClients {
    /** Nothing here blocks, so results need no thread pool. */
    private static final ClientAsyncConfiguration DIRECT = ClientAsyncConfiguration.builder()
            .advancedOption(SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, Runnable::run)
            .build();

    private AwsClients() {}

    private static final class S3 {
        static final CompletableFuture<S3AsyncClient> CLIENT = make(AwsClients::makeS3);
    }

    private static final class DynamoDb {
        static final CompletableFuture<DynamoDbAsyncClient> CLIENT = make(AwsClients::makeDynamoDb);
    }

    /**
     * Returns the client. The first call creates it on a separate thread, because loading the SDK's
     * classes would block an event loop for too long. Stages that the first callers add also run on
     * that thread.
     */
    static CompletableFuture<S3AsyncClient> s3() {
        return S3.CLIENT;
    }

    /** Returns the client. The first call creates it on a separate thread, as {@link #s3} does. */
    static CompletableFuture<DynamoDbAsyncClient> dynamoDb() {
        return DynamoDb.CLIENT;
    }

    private static <C> CompletableFuture<C> make(Supplier<C> making) {
        return CompletableFuture.supplyAsync(making, task -> new Thread(task, "aws-clients").start());
    }

    private static S3AsyncClient makeS3() {
        return S3AsyncClient.builder()
                .httpClient(AwsConnections.shared().async())
                .asyncConfiguration(DIRECT)
                .forcePathStyle(isStandIn(System.getenv()))
                .build();
    }

    /**
     * Returns whether S3 is replaced by a local server, which has one host name for all buckets.
     */
    private static boolean isStandIn(Map<String, String> variables) {
        return variables.containsKey("AWS_ENDPOINT_URL_S3") || variables.containsKey("AWS_ENDPOINT_URL");
    }

    private static DynamoDbAsyncClient makeDynamoDb() {
        return DynamoDbAsyncClient.builder()
                .httpClient(AwsConnections.shared().async())
                .asyncConfiguration(DIRECT)
                .build();
    }
}
