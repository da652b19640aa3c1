package io.lambdadispatcher.spring.dispatcher;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;

/**
 * Settings of the dispatcher. They have the names that {@code docs/reference/configuration.md}
 * gives them. Three defaults differ: without {@code public.plain.port} there is no plain-text port,
 * because the application may have a web server of its own on 8080. {@code shutdown.delay} is 0 and
 * {@code shutdown.grace} is 25 s, because applications of Spring Boot end in this way.
 *
 * @param enabled Starts the dispatcher with the application.
 * @param function The function, if there is one only.
 * @param functions The functions, if there are several. Excludes function.
 * @param publicPorts Ports for clients.
 * @param workers Port that workers dial.
 * @param shutdown How the dispatcher ends.
 */
@ConfigurationProperties("lambda-dispatcher")
public record DispatcherProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable Function function,
        @DefaultValue List<Function> functions,
        @Name("public") @DefaultValue PublicPorts publicPorts,
        @DefaultValue Workers workers,
        @DefaultValue Shutdown shutdown) {

    /**
     * A function and its workers.
     *
     * @param name Name of the function, 1 to 256 characters.
     * @param lambda Name or ARN of the Lambda function that runs the workers, with or without
     *     :alias or :version. If it is set, the dispatcher launches workers on AWS Lambda, which
     *     needs the artifact dispatcher-aws.
     * @param minWorkers Minimum number of launched workers, 0 to 100000.
     * @param maxWorkers Maximum number of launched workers, 0 to 100000. While workers are being
     *     replaced, there can be up to twice as many. With 0, workers launch themselves.
     */
    public record Function(
            @Nullable String name,
            @Nullable String lambda,
            @DefaultValue("0") int minWorkers,
            @DefaultValue("0") int maxWorkers) {}

    /**
     * Ports for clients. Without any, the application sends requests with {@code
     * Dispatcher.dispatch}.
     *
     * @param plain Port without TLS.
     * @param tls Port with TLS.
     */
    public record PublicPorts(
            @DefaultValue Plain plain, @DefaultValue Tls tls) {}

    /**
     * A port without TLS.
     *
     * @param host Address that the plain-text port listens on.
     * @param port Port for clients without TLS: HTTP/1.1 and h2c. 0 means any free port. If it is
     *     not set, the port is not opened.
     */
    public record Plain(
            @DefaultValue("0.0.0.0") String host, @Nullable Integer port) {}

    /**
     * A port with TLS.
     *
     * @param host Address that the TLS port listens on.
     * @param port Port for clients with TLS: HTTP/1.1 and h2. 0 means any free port. It opens if
     *     the certificate is set.
     * @param certificate PEM file with the certificate chain of the TLS port. The port's own
     *     certificate comes first.
     * @param key PEM file with the private key of the TLS port: PKCS #8, PKCS #1 or SEC 1,
     *     unencrypted.
     */
    public record Tls(
            @DefaultValue("0.0.0.0") String host,
            @DefaultValue("8443") int port,
            @Nullable Path certificate,
            @Nullable Path key) {}

    /**
     * The port that workers dial.
     *
     * @param host Address that the worker port listens on.
     * @param port Port that workers dial. 0 means any free port.
     * @param tls TLS of the worker port.
     * @param secret Secret from which the key of each function is derived, at least 16 bytes.
     *     External workers need the secret, or their function's key.
     * @param advertisedAddresses Addresses that launched workers dial, such as 10.0.0.7:8444. Port
     *     0 means the worker port. If it is not set, workers on Lambda dial an address that the
     *     dispatcher detects.
     */
    public record Workers(
            @DefaultValue("0.0.0.0") String host,
            @DefaultValue("8444") int port,
            @DefaultValue WorkersTls tls,
            @Nullable String secret,
            @DefaultValue List<String> advertisedAddresses) {

        /** Hides the secret. */
        @Override
        public String toString() {
            return "Workers[host=" + host + ", port=" + port + ", tls=" + tls + ", advertisedAddresses="
                    + advertisedAddresses + "]";
        }
    }

    /**
     * TLS of the worker port.
     *
     * @param certificate PEM file with the certificate chain of the worker port, or off for no TLS.
     *     If it is not set, the port has TLS with a key that follows from the secret, which workers
     *     accept without a file.
     * @param key PEM file with the private key of the worker port: PKCS #8, PKCS #1 or SEC 1,
     *     unencrypted.
     */
    public record WorkersTls(
            @Nullable Path certificate, @Nullable Path key) {}

    /**
     * The end of the dispatcher.
     *
     * @param delay Time in which the whole application keeps serving after it was told to end,
     *     while its readiness refuses traffic, so that load balancers notice.
     * @param grace Maximum time after the delay in which requests in flight may finish. Keep it
     *     below spring.lifecycle.timeout-per-shutdown-phase.
     */
    public record Shutdown(
            @DefaultValue("0s") Duration delay,
            @DefaultValue("25s") Duration grace) {}
}
