package io.lambdadispatcher.core.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.CertificateBuilder.Algorithm;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TlsOptionsTest {
    @TempDir
    Path directory;

    private Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    private static X509Bundle bundle(Algorithm algorithm) throws Exception {
        return new CertificateBuilder()
                .subject("CN=localhost")
                .algorithm(algorithm)
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
    }

    @ParameterizedTest
    @EnumSource(
            value = Algorithm.class,
            names = {"ecp256", "ecp384", "rsa2048", "ed25519"})
    void should_load_a_certificate_and_its_key(Algorithm algorithm) throws Exception {
        X509Bundle bundle = bundle(algorithm);
        Path chain = write("chain.pem", "A comment.\n" + bundle.getCertificatePathPEM());
        Path key = write("key.pem", bundle.getPrivateKeyPEM());

        TlsOptions.Contents contents =
                TlsOptions.of(chain, key).withClientCertificates(chain).load();

        assertThat(contents.chain()).containsExactly(bundle.getCertificate());
        assertThat(contents.privateKey()).isEqualTo(bundle.getKeyPair().getPrivate());
        assertThat(contents.authorities()).containsExactly(bundle.getCertificate());
    }

    @ParameterizedTest
    @EnumSource(
            value = Algorithm.class,
            names = {"ecp256", "rsa2048", "ed25519"})
    void should_refuse_the_key_of_another_certificate(Algorithm algorithm) throws Exception {
        Path chain = write("chain.pem", bundle(Algorithm.ecp256).getCertificatePathPEM());
        Path key = write("key.pem", bundle(algorithm).getPrivateKeyPEM());

        assertThatThrownBy(TlsOptions.of(chain, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("private key file " + key + ": expected the key of the first certificate in " + chain
                        + ", got another key");
    }

    @Test
    void should_read_a_certificate_and_its_key_from_one_file() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        Path both = write("both.pem", bundle.getPrivateKeyPEM() + bundle.getCertificatePathPEM());

        assertThat(TlsOptions.of(both, both).load().chain()).containsExactly(bundle.getCertificate());
    }

    @ParameterizedTest
    @ValueSource(strings = {"RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"})
    void should_say_how_to_convert_a_key_in_another_format(String label) throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        Path chain = write("chain.pem", bundle.getCertificatePathPEM());
        Path key = write("key.pem", bundle.getPrivateKeyPEM().replace("PRIVATE KEY", label));

        assertThatThrownBy(TlsOptions.of(chain, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("(BEGIN PRIVATE KEY), got BEGIN " + label)
                .hasMessageContaining("openssl pkcs8 -topk8 -nocrypt");
    }

    @Test
    void should_refuse_files_without_a_certificate_or_a_key() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        Path chain = write("chain.pem", bundle.getCertificatePathPEM());
        Path key = write("key.pem", bundle.getPrivateKeyPEM());
        Path broken = write("broken.pem", bundle.getCertificatePathPEM().replaceFirst("\nM", "\nQ"));

        assertThatThrownBy(TlsOptions.of(key, key)::load)
                .hasMessage("certificate chain file " + key + ": expected certificates in PEM, got none");
        assertThatThrownBy(TlsOptions.of(chain, chain)::load).hasMessageEndingWith("(BEGIN PRIVATE KEY), got none");
        assertThatThrownBy(TlsOptions.of(broken, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("certificate chain file " + broken + ": expected certificates in PEM, got one");
        assertThatThrownBy(TlsOptions.of(directory.resolve("none"), key)::load)
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("certificate chain file " + directory.resolve("none") + " cannot be read");
    }
}
