package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.netty.pkitesting.CertificateBuilder;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@EachRelease
class CertificateExpiryTest {
    private final LoggedLines log = LoggedLines.of(CertificateExpiry.class, Level.WARN);
    private final Map<String, Instant> seen = new HashMap<>();
    private final CertificateExpiry expiry = new CertificateExpiry(seen::put);
    private final Instant now = Instant.now().truncatedTo(ChronoUnit.SECONDS);

    @AfterEach
    void forget() {
        log.close();
    }

    private X509Certificate certificate(Duration age, Duration left) throws Exception {
        return new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .notBefore(now.minus(age))
                .notAfter(now.plus(left))
                .setIsCertificateAuthority(true)
                .buildSelfSigned()
                .getCertificate();
    }

    @Test
    void should_tell_when_a_certificate_expires() throws Exception {
        expiry.set(Map.of("workers.tls", certificate(Duration.ofDays(1), Duration.ofDays(89))));

        assertThat(seen).containsExactly(Map.entry("workers.tls", now.plus(Duration.ofDays(89))));
        assertThat(log.events()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        // Age and rest of its life in hours, and what is logged.
        "1680, 480, ''",
        "1900, 260, WARN public.tls.certificate expires at",
        "70, 74, ''",
        "100, 44, WARN public.tls.certificate expires at",
        "2160, -1, ERROR public.tls.certificate expired at"
    })
    void should_warn_before_a_certificate_expires_and_after(int age, int left, String logged) throws Exception {
        expiry.set(Map.of("public.tls", certificate(Duration.ofHours(age), Duration.ofHours(left))));

        assertThat(log.events())
                .hasSize(logged.isEmpty() ? 0 : 1)
                .allSatisfy(event -> assertThat(event.getLevel() + " " + event.getFormattedMessage())
                        .startsWith(logged));
    }

    @Test
    void should_warn_again_each_time_it_is_asked_to() throws Exception {
        expiry.set(Map.of("public.tls", certificate(Duration.ofDays(76), Duration.ofDays(20))));
        assertThat(log.events()).isEmpty();

        expiry.warn(now.plus(Duration.ofDays(10)));
        expiry.warn(now.plus(Duration.ofDays(11)));

        assertThat(log.messages())
                .satisfiesExactly(
                        first -> assertThat(first).contains("in 10 days"),
                        second -> assertThat(second).contains("in 9 days"));
    }
}
