package io.lambdadispatcher.worker.adapter.web;

import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where the web application is and how to speak to it.
 *
 * <pre>{@code
 * WebConfig.builder(8080).command("exec ./app").build();
 * }</pre>
 *
 * Immutable; any thread.
 */
public final class WebConfig {
    /** What the application speaks. */
    public enum AppProtocol {
        HTTP1,
        /** HTTP/2 in clear text with prior knowledge (RFC 9113 section 3.3). */
        H2C
    }

    /** One attempt to see whether the application can take requests. */
    public enum Probe {
        /** A response to a request. */
        HTTP,
        /** That a connection opens. */
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
        readiness = new ReadinessCheck(
                from.probe,
                from.readinessPort,
                from.readinessPath,
                from.healthyStatusCodes,
                from.readinessInterval,
                from.readinessLimit);
    }

    /** For an application on 127.0.0.1. */
    public static Builder builder(int port) {
        return builder(new InetSocketAddress("127.0.0.1", port));
    }

    /** @param address of the application, resolved */
    public static Builder builder(InetSocketAddress address) {
        return new Builder(address);
    }

    /** Not thread-safe. */
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

        /** Sets what the application speaks. Default: HTTP/1.1. */
        public Builder protocol(AppProtocol value) {
            protocol = value;
            return this;
        }

        /** Sets what is removed from the front of request paths. Default: nothing. */
        public Builder basePath(String path) {
            basePath = path;
            return this;
        }

        /**
         * Sets the header that the application gets as {@code authorization}; {@code null} means
         * none, the default.
         */
        public Builder authorizationSource(@Nullable String headerName) {
            authorizationSource =
                    headerName == null ? null : AsciiString.of(headerName).toLowerCase();
            return this;
        }

        /**
         * Closes a connection to the application that has not been used for this time. Default: 4
         * s.
         */
        public Builder idleLimit(Duration value) {
            idleLimit = value;
            return this;
        }

        /**
         * Sets the command that starts the application; {@code null} means that somebody else does,
         * the default.
         */
        public Builder command(@Nullable String line) {
            command = line;
            return this;
        }

        /** Sets where events that are not HTTP requests are posted. Default: {@code /events}. */
        public Builder passThroughPath(String path) {
            passThroughPath = path;
            return this;
        }

        /**
         * Sets which answers to an ordinary invocation make it fail, as {@code 500,502-504}.
         * Default: none.
         *
         * @throws IllegalArgumentException names what is neither a code nor a range of codes
         */
        public Builder errorStatusCodes(String codes) {
            return errorStatusCodes(StatusCodes.parse(codes));
        }

        Builder errorStatusCodes(StatusCodes codes) {
            errorStatusCodes = codes;
            return this;
        }

        /** Sets where the start of a drain is posted; {@code null} means nowhere, the default. */
        public Builder drainPath(@Nullable String path) {
            drainPath = path;
            return this;
        }

        /**
         * Sets how to see that the application can take requests. Default: by a response to GET.
         */
        public Builder readinessProbe(Probe value) {
            probe = value;
            return this;
        }

        /** Sets the port that is probed. Default: the application's. */
        public Builder readinessPort(int port) {
            readinessPort = port;
            return this;
        }

        /** Sets the path that {@link Probe#HTTP} asks for. Default: {@code /}. */
        public Builder readinessPath(String path) {
            readinessPath = path;
            return this;
        }

        /**
         * Sets which answers to {@link Probe#HTTP} mean ready. Default: {@code 100-499}.
         *
         * @throws IllegalArgumentException names what is neither a code nor a range of codes
         */
        public Builder healthyStatusCodes(String codes) {
            return healthyStatusCodes(StatusCodes.parse(codes));
        }

        Builder healthyStatusCodes(StatusCodes codes) {
            healthyStatusCodes = codes;
            return this;
        }

        /** Sets the time between two attempts. Default: 10 ms. */
        public Builder readinessInterval(Duration value) {
            readinessInterval = value;
            return this;
        }

        /**
         * Sets the time for all attempts, after which the application has failed to start. Default:
         * 5 min.
         */
        public Builder readinessLimit(Duration value) {
            readinessLimit = value;
            return this;
        }

        /** @throws IllegalArgumentException names the value and what was expected */
        public WebConfig build() {
            if (address.isUnresolved()) {
                throw new IllegalArgumentException("unknown host " + address.getHostString());
            }
            if (!basePath.isEmpty() && (!basePath.startsWith("/") || basePath.endsWith("/"))) {
                throw new IllegalArgumentException(
                        "base path is '" + basePath + "', expected it to begin with / and not to end with it");
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
                throw new IllegalArgumentException(what + " is '" + path + "', expected it to begin with /");
            }
        }
    }
}
