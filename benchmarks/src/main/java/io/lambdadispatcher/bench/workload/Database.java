package io.lambdadispatcher.bench.workload;

import io.lambdadispatcher.worker.aws.AwsConnections;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/**
 * A client of DynamoDB for handlers. It uses AWS's SDK, with connections that the worker keeps. The
 * first call creates the connections and their thread. Thread-safe.
 */
public final class Database {
    /** Path prefix for which the endpoint closes the connection after each answer. */
    static final String CLOSED = "/closed";

    private static final Map<String, AttributeValue> ITEM = Map.of("id", AttributeValue.fromS("42"));

    private final @Nullable URI endpoint;
    private final @Nullable Path certificate;
    private @Nullable Clients clients;

    private record Clients(DynamoDbAsyncClient kept, DynamoDbAsyncClient closed) {}

    /** @param certificate PEM file of the only trusted certificate */
    public Database(URI endpoint, Path certificate) {
        this.endpoint = endpoint;
        this.certificate = certificate;
    }

    private Database() {
        endpoint = null;
        certificate = null;
    }

    /** Returns a client that fails all puts. */
    public static Database none() {
        return new Database();
    }

    /**
     * Puts an item several times, one put after the other.
     *
     * @param keepAlive false = the endpoint closes the connection after each put, so that the next
     *     put opens a new one
     * @param between starts the next put; by then the previous connection is back in its pool
     * @return fails with the first put that fails
     */
    CompletionStage<Void> put(int times, boolean keepAlive, Executor between) {
        if (endpoint == null) {
            return CompletableFuture.failedFuture(new IOException("no database is configured"));
        }
        DynamoDbAsyncClient client = keepAlive ? clients().kept : clients().closed;
        CompletionStage<Void> all = putOne(client);
        for (int i = 1; i < times; i++) {
            all = all.thenComposeAsync(before -> putOne(client), between);
        }
        return all;
    }

    private static CompletionStage<Void> putOne(DynamoDbAsyncClient client) {
        return client.putItem(put -> put.tableName("items").item(ITEM)).thenApply(done -> null);
    }

    private synchronized Clients clients() {
        if (clients == null) {
            TrustManager[] trusted = trusting(Objects.requireNonNull(certificate));
            URI database = Objects.requireNonNull(endpoint);
            // Two pools, so that a put that should open a new connection never finds a kept one.
            clients = new Clients(client(trusted, database), client(trusted, database.resolve(CLOSED)));
        }
        return clients;
    }

    private static DynamoDbAsyncClient client(TrustManager[] trusted, URI endpoint) {
        AwsConnections connections = AwsConnections.builder()
                .async(netty -> netty.tlsTrustManagersProvider(() -> trusted))
                .build();
        return DynamoDbAsyncClient.builder()
                .httpClient(connections.async())
                .asyncConfiguration(completion -> completion.advancedOption(
                        SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, Runnable::run))
                .overrideConfiguration(once -> once.retryStrategy(DefaultRetryStrategy.doNotRetry()))
                .endpointOverride(endpoint)
                .region(Region.US_EAST_1)
                // The SDK requires credentials; the simulated database does not check them.
                .credentialsProvider(
                        StaticCredentialsProvider.create(AwsBasicCredentials.create("loopback", "loopback")))
                .build();
    }

    private static TrustManager[] trusting(Path certificate) {
        try (InputStream pem = Files.newInputStream(certificate)) {
            Certificate trusted = CertificateFactory.getInstance("X.509").generateCertificate(pem);
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("database", trusted);
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            return trust.getTrustManagers();
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException(
                    "certificate: " + certificate + ", expected a PEM file: " + e.getMessage(), e);
        }
    }
}
