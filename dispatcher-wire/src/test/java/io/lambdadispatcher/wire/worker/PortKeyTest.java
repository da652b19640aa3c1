package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.EachRelease;
import java.security.KeyPair;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPrivateKey;
import java.security.interfaces.ECPublicKey;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@EachRelease
class PortKeyTest {

    /** These vectors are in {@code docs/reference/protocol.md}, for workers in other languages. */
    @ParameterizedTest
    @CsvSource({
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f,"
                + "cfd97ce1712f1ba566e5c4754b6f65714e1ea38b9219650c212b40d1e7cd06bd,"
                + "5dfd6ddb85130fe6794c808610a5cb272da026e9cd37c50be9015d0544f9b892",
        "7369787465656e206279746573206174206c65617374,"
                + "fd8d38023104adbb0d087f1d2f5459f5d9870d89856467545d911b61617e604c,"
                + "34e7122438cc466716fedeaab9b8a82994e4027022aa6e464fbbf83885db8d0d"
    })
    void should_derive_the_keys_of_the_protocol(String secret, String scalar, String fingerprint) {
        KeyPair keys = PortKey.of(HexFormat.of().parseHex(secret));
        assertThat(((ECPrivateKey) keys.getPrivate()).getS().toString(16)).isEqualTo(scalar);
        assertThat(PortKey.fingerprint(keys.getPublic())).isEqualTo(fingerprint);
    }

    /** Half of all keys need the other square root. */
    @Test
    void should_make_pairs_whose_certificates_verify() throws Exception {
        Random random = new Random(1);
        int odd = 0;
        for (int i = 0; i < 60; i++) {
            byte[] secret = new byte[16 + random.nextInt(80)];
            random.nextBytes(secret);
            KeyPair keys = PortKey.of(secret);
            PublicKey again = PortKey.of(secret.clone()).getPublic();
            assertThat(again).isEqualTo(keys.getPublic());
            X509Certificate certificate =
                    CertificateWriter.selfSigned(keys, "port", Duration.ofDays(7), List.of(), List.of());
            certificate.verify(again);
            odd += ((ECPublicKey) again).getW().getAffineY().testBit(0) ? 1 : 0;
        }
        assertThat(odd).isBetween(12, 48);
    }

    @Test
    void should_refuse_a_short_secret() {
        assertThatThrownBy(() -> PortKey.of(new byte[15]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("secret of 15 bytes, expected at least 16");
    }

    @ParameterizedTest
    @ValueSource(ints = {7, 366 * 30, 366 * 100})
    void should_write_what_the_certificate_says(int days) throws Exception {
        Duration validity = Duration.ofDays(days);
        X509Certificate certificate = CertificateWriter.selfSigned(
                PortKey.of(new byte[16]),
                "Größe " + "x".repeat(days > 1000 ? 100 : 0),
                validity,
                List.of("localhost", "dispatcher.internal"),
                List.of(new byte[] {127, 0, 0, 1}, new byte[16]));

        certificate.checkValidity();
        assertThat(Duration.between(
                        Instant.now().plus(validity), certificate.getNotAfter().toInstant()))
                .isBetween(Duration.ofSeconds(-60), Duration.ZERO);
        assertThat(certificate.getVersion()).isEqualTo(3);
        assertThat(certificate.getSerialNumber().bitLength()).isEqualTo(127);
        assertThat(certificate.getSubjectX500Principal()).isEqualTo(certificate.getIssuerX500Principal());
        assertThat(certificate.getSubjectX500Principal().getName()).startsWith("CN=Größe");
        assertThat(certificate.getBasicConstraints()).isEqualTo(Integer.MAX_VALUE);
        assertThat(certificate.getSubjectAlternativeNames())
                .containsExactlyInAnyOrder(
                        List.of(2, "localhost"),
                        List.of(2, "dispatcher.internal"),
                        List.of(7, "127.0.0.1"),
                        List.of(7, "0:0:0:0:0:0:0:0"));
    }
}
