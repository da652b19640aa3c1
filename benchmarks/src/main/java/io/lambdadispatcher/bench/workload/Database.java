package io.lambdadispatcher.bench.workload;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * A handler's client of a database such as DynamoDB: an HTTPS PUT for each item. Makes its HTTP client, with threads of its own, when it is
 * first asked. Thread-safe.
 */
public final class Database {
    static final String KEPT = "/kept";
    static final String CLOSED = "/closed";

    private static final byte[] ITEM =
            "{\"TableName\":\"items\",\"Item\":{\"id\":{\"S\":\"42\"}}}".getBytes(StandardCharsets.UTF_8);

    private final @Nullable URI endpoint;
    private final @Nullable Path certificate;
    private @Nullable HttpClient client;

    /** @param certificate PEM file of the only certificate that is trusted */
    public Database(URI endpoint, Path certificate) {
        this.endpoint = endpoint;
        this.certificate = certificate;
    }

    private Database() {
        endpoint = null;
        certificate = null;
    }

    /** Fails all puts. */
    public static Database none() {
        return new Database();
    }

    /**
     * One after the other.
     *
     * @param keepAlive false: the endpoint closes the connection after each, so that the next has to make a new one
     * @return fails with the first that does
     */
    CompletionStage<Void> put(int times, boolean keepAlive) {
        CompletionStage<Void> all = CompletableFuture.completedFuture(null);
        for (int i = 0; i < times; i++) {
            all = all.thenCompose(before -> putOne(keepAlive));
        }
        return all;
    }

    private CompletionStage<Void> putOne(boolean keepAlive) {
        if (endpoint == null) {
            return CompletableFuture.failedFuture(new IOException("no database is configured"));
        }
        HttpRequest put = HttpRequest.newBuilder(endpoint.resolve(keepAlive ? KEPT : CLOSED))
                .PUT(BodyPublishers.ofByteArray(ITEM))
                .build();
        return client().sendAsync(put, BodyHandlers.discarding()).thenCompose(Database::verified);
    }

    private static CompletionStage<Void> verified(HttpResponse<Void> response) {
        return response.statusCode() == 200
                ? CompletableFuture.completedFuture(null)
                : CompletableFuture.failedFuture(
                        new IOException("the database answered " + response.statusCode() + ", expected 200"));
    }

    private synchronized HttpClient client() {
        if (client == null) {
            client = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .sslContext(trusting(Objects.requireNonNull(certificate)))
                    .build();
        }
        return client;
    }

    private static SSLContext trusting(Path certificate) {
        try (InputStream pem = Files.newInputStream(certificate)) {
            Certificate trusted = CertificateFactory.getInstance("X.509").generateCertificate(pem);
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("database", trusted);
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext tls = SSLContext.getInstance("TLS");
            tls.init(null, trust.getTrustManagers(), null);
            return tls;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException(
                    "certificate: " + certificate + ", expected a PEM file: " + e.getMessage(), e);
        }
    }
}
