package io.lambdadispatcher.it.docker;

import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.io.ConnectionStatistics;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/**
 * DynamoDB Local in this JVM, in memory. It listens on a free port of all interfaces, so that
 * function containers can reach it.
 */
final class DynamoDb implements AutoCloseable {
    private final LocalDynamoDBServerHandler handler;
    private final Server server = new Server(0);
    private final ConnectionStatistics connections = new ConnectionStatistics();
    private final DynamoDbAsyncClient client;

    private DynamoDb() throws Exception {
        // DynamoDB Local's main class cannot report which free port it uses, and it needs a
        // telemetry client.
        handler = new LocalDynamoDBServerHandler(new LocalDynamoDBRequestHandler(0, true, null, true, false), null);
        server.setHandler(handler);
        server.getConnectors()[0].addBean(connections);
        server.start();
        client = DynamoDbAsyncClient.builder()
                .httpClientBuilder(NettyNioAsyncHttpClient.builder())
                .endpointOverride(URI.create("http://127.0.0.1:" + port()))
                .region(Region.of(Cloud.REGION))
                .build();
    }

    static DynamoDb start() throws Exception {
        return new DynamoDb();
    }

    private int port() {
        return ((ServerConnector) server.getConnectors()[0]).getLocalPort();
    }

    /** Returns the URL for function containers. */
    String endpointForFunctions() {
        return "http://" + Cloud.HOST + ":" + port();
    }

    /** Returns the number of connections accepted since the start. */
    long connections() {
        return connections.getConnectionsTotal();
    }

    /** Closes all connections, as a service does with idle ones. */
    void closeConnections() {
        for (Connector connector : server.getConnectors()) {
            connector.getConnectedEndPoints().forEach(EndPoint::close);
        }
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
        server.stop();
        handler.close();
    }
}
