package io.lambdadispatcher.worker.adapter.web;

import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The address of a web application, how to speak to it, and how to start it.
 *
 * <pre>{@code
 * WebConfig config = WebConfig.builder(8080)
 *         .command("exec ./app")
 *         .readinessPath("/health")
 *         .build();
 * }</pre>
 *
 * <p>Immutable; any thread.
 */
public final class WebConfig {
    /** The protocol that the application speaks. */
    public enum AppProtocol {
        /** HTTP/1.1 (RFC 9112). */
        HTTP1,
        /** HTTP/2 in clear text with prior knowledge (RFC 9113 section 3.3). */
        H2C
    }

    /** How to check that the application can take requests. */
    public enum Probe {
        /**
         * Sends an HTTP/1.1 GET. The application is ready if it responds with one of {@link
         * Builder#healthyStatusCodes}.
         */
        HTTP,
        /** Opens a connection. The application is ready if it accepts the connection. */
        TCP
    }

    final InetSocketAddress address;
    final AppProtocol protocol;

    /** Empty if there is none. */
    final String basePath;

    /** In lower case; {@code null} if there is none. */
    final @Nullable AsciiString authorizationSource;

    final Duration idleLimit;
    final @Nullable String command;
    final String passThroughPath;
    final StatusCodes errorStatusCodes;
    final @Nullable String drainPath;
    final boolean compression;
    final ReadinessCheck readiness;

    private WebConfig(Builder from) {
        address = from.address;
        protocol = from.protocol;
        basePath = from.basePath;
        authorizationSource = from.authorizationSource;
        idleLimit = from.idleLimit;
        command = from.command;
        passThroughPath = from.passThroughPath;
        errorStatusCodes = from.errorStatusCodes;
        drainPath = from.drainPath;
        compression = from.compression;
        readiness = new ReadinessCheck(
                from.probe,
                from.readinessPort,
                from.readinessPath,
                from.healthyStatusCodes,
                from.readinessInterval,
                from.readinessLimit);
    }

    /**
     * Returns a builder for an application on 127.0.0.1.
     *
     * @param port the port that the application listens on
     */
    public static Builder builder(int port) {
        return builder(new InetSocketAddress("127.0.0.1", port));
    }

    /**
     * Returns a builder for an application at any address.
     *
     * @param address must be resolved. {@link Builder#build} checks that
     */
    public static Builder builder(InetSocketAddress address) {
        return new Builder(address);
    }

    /** Collects the values of a {@link WebConfig}. {@link #build} checks them. Not thread-safe. */
    public static final class Builder {
        private final InetSocketAddress address;
        private AppProtocol protocol = AppProtocol.HTTP1;
        private String basePath = "";
        private @Nullable AsciiString authorizationSource;
        private Duration idleLimit = Duration.ofSeconds(4);
        private @Nullable String command;
        private String passThroughPath = "/events";
        private StatusCodes errorStatusCodes = StatusCodes.NONE;
        private @Nullable String drainPath;
        private boolean compression;
        private Probe probe = Probe.HTTP;
        private int readinessPort;
        private String readinessPath = "/";
        private StatusCodes healthyStatusCodes = StatusCodes.ALL_BUT_SERVER_ERRORS;
        private Duration readinessInterval = Duration.ofMillis(10);
        private Duration readinessLimit = Duration.ofMinutes(5);

        private Builder(InetSocketAddress address) {
            this.address = address;
            this.readinessPort = address.getPort();
        }

        /**
         * Sets the protocol that the application speaks. Default: {@link AppProtocol#HTTP1}. With
         * {@link AppProtocol#H2C}, set {@link #readinessProbe} to {@link Probe#TCP} if the
         * application does not speak HTTP/1.1.
         */
        public Builder protocol(AppProtocol value) {
            protocol = value;
            return this;
        }

        /**
         * Sets the prefix that is removed from request paths, for example {@code /api}. It must
         * begin with {@code /} and not end with it. Default: an empty string, which removes
         * nothing.
         */
        public Builder basePath(String path) {
            basePath = path;
            return this;
        }

        /**
         * Sets the request header whose value the application receives as {@code authorization}.
         * The name may be in any case. Default: {@code null}, which means that no header is
         * renamed.
         */
        public Builder authorizationSource(@Nullable String headerName) {
            authorizationSource =
                    headerName == null ? null : AsciiString.of(headerName).toLowerCase();
            return this;
        }

        /**
         * Sets the time without a request after which a connection to the application is not used
         * again, zero or more. Default: 4 s. It should be shorter than the application's own
         * keep-alive timeout.
         */
        public Builder idleLimit(Duration value) {
            idleLimit = value;
            return this;
        }

        /**
         * Sets the shell command that starts the application. The application receives its port in
         * {@code PORT}, host and port in {@code AWS_LAMBDA_HTTP_ENDPOINT}, and no variable that
         * begins with {@code LAMBDA_DISPATCHER_}, except {@link
         * io.lambdadispatcher.worker.config.WorkerConfig#DOWNSTREAM_SHARE_VARIABLE}. Default:
         * {@code null}, which means that the application is started by other means.
         */
        public Builder command(@Nullable String line) {
            command = line;
            return this;
        }

        /**
         * Sets the path to which events that are not HTTP requests are posted. It must begin with
         * {@code /}. Default: {@code /events}.
         */
        public Builder passThroughPath(String path) {
            passThroughPath = path;
            return this;
        }

        /**
         * Sets the statuses of a response that fail an ordinary invocation, for example {@code
         * 500,502-504}. Default: none.
         *
         * @throws IllegalArgumentException if a part is neither a status from 100 to 999 nor a
         *     range of them
         */
        public Builder errorStatusCodes(String codes) {
            return errorStatusCodes(StatusCodes.parse(codes));
        }

        Builder errorStatusCodes(StatusCodes codes) {
            errorStatusCodes = codes;
            return this;
        }

        /**
         * Sets the path to which a POST is sent when the worker begins to drain. It must begin with
         * {@code /}. The headers {@code lambda-dispatcher-drain-reason} and {@code
         * lambda-dispatcher-drain-grace-millis} say why, and how many milliseconds are left.
         * Default: {@code null}, which sends nothing.
         */
        public Builder drainPath(@Nullable String path) {
            drainPath = path;
            return this;
        }

        /**
         * Sets whether the worker compresses responses for clients that accept {@code gzip}, as the
         * AWS Lambda Web Adapter does. Images except SVG, event streams, and responses below 32
         * bytes are not compressed. Default: false.
         */
        public Builder compression(boolean value) {
            compression = value;
            return this;
        }

        /**
         * Sets how to check that the application can take requests. Default: {@link Probe#HTTP}.
         */
        public Builder readinessProbe(Probe value) {
            probe = value;
            return this;
        }

        /** Sets the port that is probed, 1 to 65,535. Default: the port of the application. */
        public Builder readinessPort(int port) {
            readinessPort = port;
            return this;
        }

        /**
         * Sets the path that {@link Probe#HTTP} requests. It must begin with {@code /}. Default:
         * {@code /}.
         */
        public Builder readinessPath(String path) {
            readinessPath = path;
            return this;
        }

        /**
         * Sets the statuses that mean that the application is ready, for {@link Probe#HTTP}.
         * Default: {@code 100-499}.
         *
         * @throws IllegalArgumentException if a part is neither a status from 100 to 999 nor a
         *     range of them
         */
        public Builder healthyStatusCodes(String codes) {
            return healthyStatusCodes(StatusCodes.parse(codes));
        }

        Builder healthyStatusCodes(StatusCodes codes) {
            healthyStatusCodes = codes;
            return this;
        }

        /** Sets the pause between two probes, more than zero. Default: 10 ms. */
        public Builder readinessInterval(Duration value) {
            readinessInterval = value;
            return this;
        }

        /**
         * Sets the time within which the application must be ready, more than zero. After it, the
         * application has failed to start. Default: 5 min.
         */
        public Builder readinessLimit(Duration value) {
            readinessLimit = value;
            return this;
        }

        /**
         * Returns the configuration.
         *
         * @throws IllegalArgumentException if a value is not allowed, or the address is not
         *     resolved. The message names the value and what was expected
         */
        public WebConfig build() {
            if (address.isUnresolved()) {
                throw new IllegalArgumentException("unknown host " + address.getHostString());
            }
            if (!basePath.isEmpty() && (!basePath.startsWith("/") || basePath.endsWith("/"))) {
                throw new IllegalArgumentException(
                        "base path is '" + basePath + "', expected a path that begins with / and does not end with /");
            }
            requirePath("pass-through path", passThroughPath);
            requirePath("drain path", drainPath);
            if (idleLimit.isNegative()) {
                throw new IllegalArgumentException("idle limit is " + idleLimit + ", expected zero or more");
            }
            return new WebConfig(this);
        }

        private static void requirePath(String what, @Nullable String path) {
            if (path != null && !path.startsWith("/")) {
                throw new IllegalArgumentException(what + " is '" + path + "', expected a path that begins with /");
            }
        }
    }
}
