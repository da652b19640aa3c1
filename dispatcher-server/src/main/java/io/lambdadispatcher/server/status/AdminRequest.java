package io.lambdadispatcher.server.status;

import io.lambdadispatcher.wire.http.PrintableText;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to the admin port of a running dispatcher, with the token if there is one. Any
 * thread.
 */
public final class AdminRequest {
    static final String ADVICE = "Set --admin-url to the admin port of a running dispatcher.";

    private static final String TRUST = "Name its file, or that of its authorities, with --ca-file.";
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private final HttpClient client;
    private final @Nullable String token;

    /**
     * @param tls trusts the certificate of the port; {@code null} = that of the JVM
     * @param token visible ASCII; {@code null} = none
     */
    public AdminRequest(@Nullable SSLContext tls, @Nullable String token) {
        HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
        client = tls == null ? builder.build() : builder.sslContext(tls).build();
        this.token = token;
    }

    /**
     * Sends a request, and waits at most 5 s for the whole answer.
     *
     * @throws AdminException if there is no answer
     */
    public HttpResponse<byte[]> send(HttpRequest.Builder request) throws AdminException, InterruptedException {
        if (token != null) {
            request.header("authorization", "Bearer " + token);
        }
        HttpRequest built = request.build();
        CompletableFuture<HttpResponse<byte[]>> answer = client.sendAsync(built, BodyHandlers.ofByteArray());
        try {
            return answer.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            // Closes the connection.
            answer.cancel(true);
            throw new AdminException(built.uri(), "no answer within " + TIMEOUT.toSeconds() + " s", ADVICE, e);
        } catch (ExecutionException e) {
            throw failed(built.uri(), e.getCause() == null ? e : e.getCause());
        }
    }

    private static AdminException failed(URI uri, Throwable failure) {
        if (failure instanceof ConnectException) {
            return new AdminException(uri, "cannot connect (" + unconnected(failure) + ")", ADVICE, failure);
        }
        String reason = PrintableText.ofFailure(failure);
        return failure instanceof SSLException
                ? new AdminException(uri, "expected a trusted certificate (" + reason + ")", TRUST, failure)
                : new AdminException(uri, "expected an HTTP answer, got none (" + reason + ")", ADVICE, failure);
    }

    /** The JDK's client has no message if a connection is refused. */
    private static String unconnected(Throwable failure) {
        if (failure.getMessage() != null) {
            return failure.getMessage();
        }
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            if (cause instanceof UnresolvedAddressException) {
                return "unknown host";
            }
        }
        return "connection refused";
    }
}
