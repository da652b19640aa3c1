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
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

    private static String pem(String label, byte[] bytes) {
        String base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return "-----BEGIN " + label + "-----\n" + base64 + "\n-----END " + label + "-----\n";
    }

    /** A certificate that is signed with RSASSA-PSS can have any key. This is about its own key. */
    @Test
    void should_say_what_to_do_about_a_key_for_rsassa_pss_only() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSASSA-PSS");
        generator.initialize(2048);
        KeyPair pss = generator.generateKeyPair();
        X509Bundle issuer = bundle(Algorithm.ecp256);
        X509Bundle certificate = new CertificateBuilder()
                .subject("CN=localhost")
                .publicKey(pss.getPublic())
                .buildIssuedBy(issuer);
        Path chain = write("chain.pem", certificate.getCertificatePathPEM());
        Path key = write("key.pem", pem("PRIVATE KEY", pss.getPrivate().getEncoded()));
        Path other = write("other.pem", issuer.getCertificatePathPEM());

        String advice = "got one for RSASSA-PSS only, which not every TLS library can use. Create the key and its"
                + " certificate again, with the algorithm RSA";
        assertThatThrownBy(TlsOptions.of(chain, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("certificate chain file " + chain
                        + ": expected a certificate with an RSA, EC or EdDSA key first, " + advice);
        assertThatThrownBy(TlsOptions.of(other, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("private key file " + key + ": ")
                .hasMessageEndingWith(advice);
    }

    /** Otherwise the chain would lack a certificate, and clients would fail to verify it. */
    @ParameterizedTest
    @CsvSource({
        "M*, 'expected base64 in the block CERTIFICATE that begins in line 2, got other text'",
        "M-----, 'expected base64 in the block CERTIFICATE that begins in line 2, got other text'",
        "MAAA, 'expected certificates in PEM, got one that is not valid, in line 2: *'"
    })
    void should_refuse_a_chain_with_a_damaged_block(String damage, String problem) throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        String good = bundle.getCertificatePathPEM();
        Path key = write("key.pem", bundle.getPrivateKeyPEM());
        // The first line is a comment, so the block begins in line 2.
        String first = "A comment.\n" + good.replaceFirst("\nM", "\n" + damage + "M");
        Path chain = write("chain.pem", first + good);

        assertThatThrownBy(TlsOptions.of(chain, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .message()
                .satisfies(message -> assertThat(message)
                        .startsWith("certificate chain file " + chain + ": " + problem.replace("*", "")));
    }

    @Test
    void should_refuse_a_block_without_begin_or_end() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        String good = bundle.getCertificatePathPEM();
        Path key = write("key.pem", bundle.getPrivateKeyPEM());
        String end = "-----END CERTIFICATE-----";

        Path cutOff = write("cut-off.pem", good + good.substring(0, good.indexOf(end)));
        assertThatThrownBy(TlsOptions.of(cutOff, key)::load)
                .hasMessage("certificate chain file " + cutOff + ": expected " + end
                        + " after the block that begins in line "
                        + (1 + good.lines().count()) + ", got none");
        Path joined = write("joined.pem", good.replace(end, "") + good);
        assertThatThrownBy(TlsOptions.of(joined, key)::load)
                .hasMessage("certificate chain file " + joined + ": expected " + end
                        + " after the block that begins in line 1, got none");
        Path headless = write("headless.pem", good + good.substring(good.indexOf('\n')));
        assertThatThrownBy(TlsOptions.of(headless, key)::load)
                .hasMessageStartingWith("certificate chain file " + headless + ": expected " + end + " in line ")
                .hasMessageEndingWith(" to end a block, got no begin");
    }

    /** OpenSSL encrypted keys like this before PKCS #8. */
    @Test
    void should_say_how_to_convert_a_key_with_headers() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        Path chain = write("chain.pem", bundle.getCertificatePathPEM());
        Path key = write(
                "key.pem",
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n"
                        + "-----END RSA PRIVATE KEY-----\n");

        assertThatThrownBy(TlsOptions.of(chain, key)::load)
                .hasMessageContaining("got BEGIN RSA PRIVATE KEY. Convert it with openssl pkcs8 -topk8 -nocrypt");
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
