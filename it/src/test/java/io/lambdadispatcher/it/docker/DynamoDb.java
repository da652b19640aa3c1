package io.lambdadispatcher.it.docker;

import io.lambdadispatcher.aws.LocalDynamoDb;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/** DynamoDB Local in this JVM, with tables for function containers. */
final class DynamoDb implements AutoCloseable {
    private final LocalDynamoDb server = LocalDynamoDb.start();
    private final DynamoDbAsyncClient client = DynamoDbAsyncClient.builder()
            .httpClientBuilder(NettyNioAsyncHttpClient.builder())
            .endpointOverride(server.endpoint())
            .region(Region.of(Cloud.REGION))
            .build();

    private DynamoDb() throws Exception {}

    static DynamoDb start() throws Exception {
        return new DynamoDb();
    }

    /** Returns the URL for function containers. */
    String endpointForFunctions() {
        return "http://" + Cloud.HOST + ":" + server.port();
    }

    LocalDynamoDb server() {
        return server;
    }

    /** @param key the name of the key attribute, a string */
    void createTable(String name, String key) {
        client.createTable(create -> create.tableName(name)
                        .billingMode(BillingMode.PAY_PER_REQUEST)
                        .keySchema(KeySchemaElement.builder()
                                .attributeName(key)
                                .keyType(KeyType.HASH)
                                .build())
                        .attributeDefinitions(AttributeDefinition.builder()
                                .attributeName(key)
                                .attributeType(ScalarAttributeType.S)
                                .build()))
                .join();
    }

    List<Map<String, AttributeValue>> scan(String table) {
        return client.scan(scan -> scan.tableName(table)).join().items();
    }

    @Override
    public void close() throws Exception {
        client.close();
        server.close();
    }
}
