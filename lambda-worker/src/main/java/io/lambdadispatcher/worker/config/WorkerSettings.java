package io.lambdadispatcher.worker.config;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A worker's settings as somebody wrote them, in an invoke payload or in the environment; collected one by one, then judged together.
 * Confined to one thread.
 */
final class WorkerSettings {
    /** What somebody wrote as the field {@code name} cannot be used. */
    static IllegalArgumentException bad(String name, Object value, String expected) {
        return new IllegalArgumentException(name + " is " + value + ", expected " + expected);
    }

    static final String MILLIS = "milliseconds, 0 to " + WorkerConfig.LONGEST.toMillis();

    static boolean isMillis(long value) {
        return value >= 0 && value <= WorkerConfig.LONGEST.toMillis();
    }

    @Nullable
    String function;

    @Nullable
    String workerId;

    @Nullable
    String token;

    @Nullable
    String secret;

    List<InetSocketAddress> addresses = List.of();

    @Nullable
    Integer connections;

    @Nullable
    Integer streams;

    @Nullable
    Duration deadline;

    @Nullable
    Duration deadlineMargin;

    @Nullable
    Duration idleTimeout;

    @Nullable
    Duration drainGrace;

    @Nullable
    Duration loneTimeout;

    /** Nobody needs to say so who says how: whatever else is set about TLS switches it on, for a token must not go in clear text by mistake. */
    boolean tls;

    @Nullable
    String tlsFingerprint;

    @Nullable
    String tlsTrustPem;

    @Nullable
    String tlsTrustFile;

    @Nullable
    String tlsCertificate;

    @Nullable
    String tlsKey;

    /** {@code host:port} or {@code [v6]:port}, unresolved. */
    static InetSocketAddress address(String name, String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "" : text.substring(0, colon).trim();
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        try {
            int port = Integer.parseInt(text.substring(colon + 1).trim());
            if (!host.isEmpty() && port > 0 && port <= 65_535) {
                return InetSocketAddress.createUnresolved(host, port);
            }
        } catch (NumberFormatException e) {
            // As bad as a port out of range.
        }
        throw bad(name, "'" + text + "'", "host:port");
    }

    /** A certificate is no use without its key, nor is a key. */
    void requireBoth(String certificateName, String keyName) {
        if ((tlsCertificate == null) != (tlsKey == null)) {
            String missing = tlsKey == null ? keyName : certificateName;
            String given = tlsKey == null ? certificateName : keyName;
            throw bad(missing, "not set", "a PEM file, for " + given + " is set");
        }
    }

    WorkerConfig toConfig() {
        String named = required("function", function);
        String id = required("workerId", workerId);
        if (addresses.isEmpty()) {
            throw bad("addresses", "missing", "at least one host:port");
        }
        WorkerConfig base = WorkerConfig.of(named, id, credential(), addresses);
        return base.withStreams(or(connections, base.connections()), or(streams, base.streams()))
                .withTls(tlsOrNull())
                .withDeadline(or(deadline, base.deadline()), or(deadlineMargin, base.deadlineMargin()))
                .withTimeouts(
                        or(idleTimeout, base.idleTimeout()),
                        or(drainGrace, base.drainGrace()),
                        or(loneTimeout, base.loneTimeout()));
    }

    private Credential credential() {
        if (token != null) {
            return new Credential.Token(token);
        }
        if (secret != null) {
            return new Credential.Secret(secret);
        }
        throw bad("token", "missing", "a launch token, or a secret to mint one with");
    }

    private @Nullable WorkerTls tlsOrNull() {
        if (!tls
                && Stream.of(tlsFingerprint, tlsTrustPem, tlsTrustFile, tlsCertificate)
                        .allMatch(Objects::isNull)) {
            return null;
        }
        WorkerTls trust = WorkerTls.system();
        if (tlsFingerprint != null) {
            trust = WorkerTls.fingerprint(tlsFingerprint);
        } else if (tlsTrustPem != null) {
            trust = WorkerTls.pemText(tlsTrustPem);
        } else if (tlsTrustFile != null) {
            trust = WorkerTls.pem(Path.of(tlsTrustFile));
        }
        if (tlsCertificate == null || tlsKey == null) {
            return trust;
        }
        return trust.withClientCertificate(Path.of(tlsCertificate), Path.of(tlsKey));
    }

    private static String required(String name, @Nullable String value) {
        if (value == null || value.isBlank()) {
            throw bad(name, value == null ? "missing" : "empty", "a name");
        }
        return value;
    }

    private static <T> T or(@Nullable T value, T otherwise) {
        return value == null ? otherwise : value;
    }
}
