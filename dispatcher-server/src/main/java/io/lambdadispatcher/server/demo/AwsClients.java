package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.aws.AwsConnections;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import software.amazon.awssdk.core.client.config.ClientAsyncConfiguration;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.s3.S3AsyncClient;

/**
 * The clients of this environment, on the connections that all share. Region, credentials and endpoints ({@code AWS_ENDPOINT_URL_S3}, {@code
 * AWS_ENDPOINT_URL_DYNAMODB}) are what the SDK finds in the environment. They live as long as the process.
 */
final class AwsClients {
    /** Nothing here blocks, so results need no thread of their own. */
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
     * Made with the first request for it, on a thread of its own, and whatever the first requests do next runs there as well: loading the SDK's
     * classes takes longer than an event loop may be silent. Later calls are answered at once.
     */
    static CompletableFuture<S3AsyncClient> s3() {
        return S3.CLIENT;
    }

    /** As {@link #s3}. */
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

    /** A stand-in for S3 has one host name, not one for each bucket. */
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
