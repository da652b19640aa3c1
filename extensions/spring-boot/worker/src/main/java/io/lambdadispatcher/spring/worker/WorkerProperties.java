package io.lambdadispatcher.spring.worker;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of an external worker. Each stands for the environment variable of {@code
 * docs/reference/configuration.md} with the same name: {@code tls-trust-pem} for {@code
 * LAMBDA_DISPATCHER_TLS_TRUST_PEM}. A variable counts if its property is not set.
 *
 * @param enabled Starts the worker with the application, if addresses are set.
 * @param addresses Worker ports of the dispatchers to dial: host:port. Without any, no worker
 *     starts.
 * @param function Name of the function whose requests the worker serves, as the dispatcher knows
 *     it.
 * @param secret The dispatcher's function.secret, or workers.secret if the function has none.
 * @param functionKey The function's key, instead of the secret.
 * @param workerId Name of the worker, never used again. If it is not set, it is made again each
 *     time.
 * @param connections Connections in all, 1 to 64. Default: 1.
 * @param streams Worker streams on each connection, 1 to 1000. Default: 100.
 * @param drainGrace Maximum time in which requests in flight may finish when the application ends.
 *     Default: 30 s.
 * @param tls true trusts the JVM's certificate authorities, false dials without TLS. Default: with
 *     secret, only the key of the dispatcher with the same secret is accepted.
 * @param tlsTrustPem PEM file with the certificate authorities that may vouch for the dispatcher.
 * @param tlsFingerprint Fingerprints of the dispatcher's public keys to accept, separated by
 *     commas, as 'dispatcher worker keys' prints them.
 * @param tlsCertificate PEM file with the certificate chain that the worker presents.
 * @param tlsKey PEM file with the private key of that certificate: PKCS #8, PKCS #1 or SEC 1,
 *     unencrypted.
 */
@ConfigurationProperties("lambda-dispatcher.worker")
public record WorkerProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue List<String> addresses,
        @Nullable String function,
        @Nullable String secret,
        @Nullable String functionKey,
        @Nullable String workerId,
        @Nullable Integer connections,
        @Nullable Integer streams,
        @Nullable Duration drainGrace,
        @Nullable Boolean tls,
        @Nullable String tlsTrustPem,
        @Nullable String tlsFingerprint,
        @Nullable String tlsCertificate,
        @Nullable String tlsKey) {

    /** Hides the secrets. */
    @Override
    public String toString() {
        return "WorkerProperties[addresses=" + addresses + ", function=" + function + "]";
    }
}
