package io.lambdadispatcher.worker.adapter.web;

import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where the web application is and how to speak to it.
 *
 * @param address of the application, resolved
 * @param basePath removed from the front of request paths; empty = none
 * @param authorizationSource name in lower case of the field that the application gets as {@code authorization}; {@code null} = none
 * @param idleLimit a connection to the application that has not been used for longer is not used any more
 * @param readiness when the application counts as started
 * @param command starts the application; {@code null} = somebody else does
 * @param passThroughPath where events that are no HTTP request are posted
 * @param errorStatusCodes answers to an ordinary invocation that make it fail
 * @param drainPath where it is posted that the worker begins to drain; {@code null} = nowhere
 */
public record WebConfig(
        InetSocketAddress address,
        AppProtocol protocol,
        String basePath,
        @Nullable AsciiString authorizationSource,
        Duration idleLimit,
        ReadinessCheck readiness,
        @Nullable String command,
        String passThroughPath,
        StatusCodes errorStatusCodes,
        @Nullable String drainPath) {

    /** What the application speaks. */
    public enum AppProtocol {
        HTTP1,
        /** HTTP/2 in clear text with prior knowledge (RFC 9113 section 3.3). */
        H2C
    }

    public WebConfig {
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("unknown host " + address.getHostString());
        }
        if (!basePath.isEmpty() && (!basePath.startsWith("/") || basePath.endsWith("/"))) {
            throw new IllegalArgumentException(
                    "base path is '" + basePath + "', expected it to begin with / and not to end with it");
        }
        if (!passThroughPath.startsWith("/")) {
            throw new IllegalArgumentException(
                    "pass-through path is '" + passThroughPath + "', expected it to begin with /");
        }
        if (drainPath != null && !drainPath.startsWith("/")) {
            throw new IllegalArgumentException("drain path is '" + drainPath + "', expected it to begin with /");
        }
        if (idleLimit.isNegative()) {
            throw new IllegalArgumentException("idle limit is " + idleLimit + ", expected zero or more");
        }
    }

    /** HTTP/1.1 on 127.0.0.1, ready when it answers GET /, connections that are idle for up to 4 s. */
    public static WebConfig of(int port) {
        return of(new InetSocketAddress("127.0.0.1", port));
    }

    public static WebConfig of(InetSocketAddress address) {
        return new WebConfig(
                address,
                AppProtocol.HTTP1,
                "",
                null,
                Duration.ofSeconds(4),
                ReadinessCheck.of(address.getPort()),
                null,
                "/events",
                StatusCodes.NONE,
                null);
    }

    public WebConfig withProtocol(AppProtocol value) {
        return new WebConfig(
                address,
                value,
                basePath,
                authorizationSource,
                idleLimit,
                readiness,
                command,
                passThroughPath,
                errorStatusCodes,
                drainPath);
    }

    public WebConfig withBasePath(String value) {
        return new WebConfig(
                address,
                protocol,
                value,
                authorizationSource,
                idleLimit,
                readiness,
                command,
                passThroughPath,
                errorStatusCodes,
                drainPath);
    }

    public WebConfig withAuthorizationSource(@Nullable String fieldName) {
        return new WebConfig(
                address,
                protocol,
                basePath,
                fieldName == null ? null : AsciiString.of(fieldName).toLowerCase(),
                idleLimit,
                readiness,
                command,
                passThroughPath,
                errorStatusCodes,
                drainPath);
    }

    public WebConfig withIdleLimit(Duration value) {
        return new WebConfig(
                address,
                protocol,
                basePath,
                authorizationSource,
                value,
                readiness,
                command,
                passThroughPath,
                errorStatusCodes,
                drainPath);
    }

    public WebConfig withReadiness(ReadinessCheck value) {
        return new WebConfig(
                address,
                protocol,
                basePath,
                authorizationSource,
                idleLimit,
                value,
                command,
                passThroughPath,
                errorStatusCodes,
                drainPath);
    }

    public WebConfig withCommand(@Nullable String value) {
        return new WebConfig(
                address,
                protocol,
                basePath,
                authorizationSource,
                idleLimit,
                readiness,
                value,
                passThroughPath,
                errorStatusCodes,
                drainPath);
    }

    public WebConfig withEvents(String newPassThroughPath, StatusCodes newErrorStatusCodes) {
        return new WebConfig(
                address,
                protocol,
                basePath,
                authorizationSource,
                idleLimit,
                readiness,
                command,
                newPassThroughPath,
                newErrorStatusCodes,
                drainPath);
    }

    public WebConfig withDrainPath(@Nullable String value) {
        return new WebConfig(
                address,
                protocol,
                basePath,
                authorizationSource,
                idleLimit,
                readiness,
                command,
                passThroughPath,
                errorStatusCodes,
                value);
    }
}
