package io.lambdadispatcher.server;

import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.Settings;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows when the certificates of the ports expire, and warns before. Thread-safe.
 *
 * <p>The certificate of a chain that expires first counts, because clients reject the whole chain
 * then.
 */
final class CertificateExpiry {
    private static final Logger log = LoggerFactory.getLogger(CertificateExpiry.class);
    private static final Duration WARNING = Duration.ofDays(14);
    /** The warning for a certificate of a few days begins with the last third of its life. */
    private static final int PART_OF_LIFE = 3;

    private final BiConsumer<String, Instant> listener;
    private volatile Map<String, X509Certificate> inForce = Map.of();

    /** @param listener receives the name of each port that has TLS, and when it expires */
    CertificateExpiry(BiConsumer<String, Instant> listener) {
        this.listener = listener;
    }

    /**
     * Returns the certificate that expires first, of each port that has TLS.
     *
     * @throws java.io.UncheckedIOException if a file cannot be read
     * @throws IllegalArgumentException if a file is not valid
     */
    static Map<String, X509Certificate> read(Configuration configuration) {
        Map<String, X509Certificate> found = new LinkedHashMap<>();
        if (!configuration.get(Settings.PUBLIC_TLS_PORT).isOff()) {
            add(found, "public.tls", configuration.publicTls());
        }
        add(found, "workers.tls", configuration.workerTls());
        add(found, "admin.tls", configuration.adminTls());
        return found;
    }

    private static void add(Map<String, X509Certificate> found, String port, @Nullable TlsOptions tls) {
        if (tls != null) {
            found.put(
                    port,
                    tls.load().chain().stream()
                            .min(Comparator.comparing(X509Certificate::getNotAfter))
                            .orElseThrow());
        }
    }

    /** Sets what {@link #read} has returned for the configuration that is in force. */
    void set(Map<String, X509Certificate> found) {
        inForce = Map.copyOf(found);
        found.forEach((port, certificate) ->
                listener.accept(port, certificate.getNotAfter().toInstant()));
        warn(Instant.now());
    }

    /** Logs each certificate that expires soon, or has expired. */
    void warn(Instant now) {
        inForce.forEach((port, certificate) -> {
            Instant expiry = certificate.getNotAfter().toInstant();
            Duration life = Duration.between(certificate.getNotBefore().toInstant(), expiry);
            Duration left = Duration.between(now, expiry);
            if (left.isNegative() || left.isZero()) {
                log.error("{}.certificate expired at {}, so clients reject it. Replace the files.", port, expiry);
            } else if (left.compareTo(WARNING) < 0 && left.compareTo(life.dividedBy(PART_OF_LIFE)) < 0) {
                log.warn(
                        "{}.certificate expires at {}, in {} days. Replace the files before that.",
                        port,
                        expiry,
                        left.toDays());
            }
        });
    }
}
