package io.lambdadispatcher.server.top;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to the admin port of a running dispatcher, with the token if there is one. Any
 * thread.
 */
public final class AdminRequest {
    static final String ADVICE = "Set --admin-url to the admin port of a running dispatcher.";

    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private final HttpClient client;
    private final @Nullable String token;

    /**
     * @param tls trusts the certificate of the port; {@code null} = that of the JVM
     * @param token visible ASCII; {@code null} = none
     */
    public AdminRequest(@Nullable SSLContext tls, @Nullable String token) {
        HttpClient.Builder builder =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT);
        client = tls == null ? builder.build() : builder.sslContext(tls).build();
        this.token = token;
    }

    /**
     * Sends a request, and waits at most 5 s for the head of the answer.
     *
     * @throws TopException if there is no answer
     */
    public <T> HttpResponse<T> send(HttpRequest.Builder request, BodyHandler<T> body)
            throws TopException, InterruptedException {
        if (token != null) {
            request.header("authorization", "Bearer " + token);
        }
        HttpRequest built = request.timeout(TIMEOUT).build();
        URI uri = built.uri();
        try {
            return client.send(built, body);
        } catch (HttpTimeoutException e) {
            throw new TopException(uri + ": no answer within " + TIMEOUT.toSeconds() + " s. " + ADVICE, e);
        } catch (ConnectException e) {
            throw new TopException(uri + ": cannot connect (" + reason(e) + "). " + ADVICE, e);
        } catch (SSLException e) {
            throw new TopException(
                    uri + ": expected a trusted certificate (" + PrintableText.ofFailure(e)
                            + "). Name its file, or that of its authorities, with --ca-file.",
                    e);
        } catch (IOException e) {
            throw new TopException(uri + ": expected an HTTP answer, got none (" + e.getMessage() + "). " + ADVICE, e);
        }
    }

    /** The JDK's client has no message if a connection is refused. */
    private static String reason(ConnectException failure) {
        if (failure.getMessage() != null) {
            return failure.getMessage();
        }
        return failure.getCause() != null && failure.getCause().getCause() instanceof UnresolvedAddressException
                        || failure.getCause() instanceof UnresolvedAddressException
                ? "unknown host"
                : "connection refused";
    }
}
