package io.lambdadispatcher.core.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.CertificateBuilder.Algorithm;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.interfaces.ECKey;
import java.security.interfaces.ECPrivateKey;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.bouncycastle.asn1.ASN1Encodable;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

@EachRelease
class TlsOptionsTest {
    @TempDir
    Path directory;

    private Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    private static X509Bundle bundle(Algorithm algorithm) {
        try {
            return new CertificateBuilder()
                    .subject("CN=localhost")
                    .algorithm(algorithm)
                    .setIsCertificateAuthority(true)
                    .buildSelfSigned();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
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
                .hasMessage("private key file " + key
                        + ": expected the key of the first certificate in certificate chain file " + chain
                        + ", got another key");
    }

    @Test
    void should_read_a_certificate_and_its_key_from_one_file() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        Path both = write("both.pem", bundle.getPrivateKeyPEM() + bundle.getCertificatePathPEM());

        assertThat(TlsOptions.of(both, both).load().chain()).containsExactly(bundle.getCertificate());
    }

    /** The formats in which tools write private keys. */
    private enum KeyFormat {
        PKCS8,
        /** PKCS #1 for RSA and SEC 1 for EC: the default of cert-manager. */
        TRADITIONAL,
        /** SEC 1 after a block with the curve, as {@code openssl ecparam -genkey} writes. */
        AFTER_PARAMETERS,
        /** SEC 1 with the curve only in the block before it. */
        WITHOUT_CURVE;

        String write(PrivateKey key) throws Exception {
            PrivateKeyInfo info = PrivateKeyInfo.getInstance(key.getEncoded());
            if (this == PKCS8 || key.getAlgorithm().equals("EdDSA")) {
                return pem("PRIVATE KEY", key.getEncoded());
            }
            byte[] inside = info.parsePrivateKey().toASN1Primitive().getEncoded();
            if (key.getAlgorithm().equals("RSA")) {
                return pem("RSA PRIVATE KEY", inside);
            }
            ASN1Encodable curve = info.getPrivateKeyAlgorithm().getParameters();
            int bits = ((ECKey) key).getParams().getOrder().bitLength();
            BigInteger secret = ((ECPrivateKey) key).getS();
            byte[] complete = new org.bouncycastle.asn1.sec.ECPrivateKey(bits, secret, curve).getEncoded();
            String parameters = pem("EC PARAMETERS", curve.toASN1Primitive().getEncoded());
            return switch (this) {
                case AFTER_PARAMETERS -> parameters + pem("EC PRIVATE KEY", complete);
                case WITHOUT_CURVE ->
                    parameters
                            + pem(
                                    "EC PRIVATE KEY",
                                    new org.bouncycastle.asn1.sec.ECPrivateKey(bits, secret).getEncoded());
                default -> pem("EC PRIVATE KEY", complete);
            };
        }
    }

    /** What editors, tools and templates do to a PEM file. */
    private static List<String> spellings(String pem) {
        return List.of(
                pem,
                pem.replace("\n", "\r\n"),
                pem.replace("\n", "\r"),
                "subject=CN = a\n\n" + pem + "\nissuer=CN = a",
                "\u00ef\u00bb\u00bf" + pem,
                pem.indent(4),
                pem.replace("\n", " \t\n"),
                pem.strip());
    }

    /** EC keys with and without the curve inside are the same, but not equal for the JDK. */
    private static void assertSame(PrivateKey actual, PrivateKey expected) {
        if (expected instanceof ECPrivateKey ec) {
            assertThat(((ECPrivateKey) actual).getS()).isEqualTo(ec.getS());
            assertThat(((ECPrivateKey) actual).getParams()).isEqualTo(ec.getParams());
        } else {
            assertThat(actual).isEqualTo(expected);
        }
    }

    /** One key of each algorithm in all formats, because an RSA key takes seconds to make. */
    private static Stream<Arguments> keysAsPeopleHaveThem() {
        return Stream.of(Algorithm.ecp256, Algorithm.ecp384, Algorithm.rsa2048, Algorithm.ed25519)
                .flatMap(algorithm -> {
                    X509Bundle bundle = bundle(algorithm);
                    return Stream.of(KeyFormat.values()).map(format -> Arguments.of(algorithm, format, bundle));
                });
    }

    @ParameterizedTest
    @MethodSource("keysAsPeopleHaveThem")
    void should_read_a_key_in_any_format_and_spelling(Algorithm algorithm, KeyFormat format, X509Bundle bundle)
            throws Exception {
        Path chain = directory.resolve("chain.pem");
        Path key = directory.resolve("key.pem");
        String certificates =
                bundle.getCertificatePathPEM() + bundle(Algorithm.ecp256).getCertificatePathPEM();
        List<String> keys = spellings(format.write(bundle.getKeyPair().getPrivate()));
        List<String> chains = spellings(certificates);
        for (int i = 0; i < keys.size(); i++) {
            Files.writeString(key, keys.get(i), StandardCharsets.ISO_8859_1);
            Files.writeString(chain, chains.get(i), StandardCharsets.ISO_8859_1);

            TlsOptions.Contents contents = TlsOptions.of(chain, key).load();

            assertSame(contents.privateKey(), bundle.getKeyPair().getPrivate());
            assertThat(contents.chain()).hasSize(2).startsWith(bundle.getCertificate());
        }
    }

    private static final String KEY_EXPECTED = ": expected a private key in PEM that is not encrypted (BEGIN PRIVATE"
            + " KEY, BEGIN RSA PRIVATE KEY or BEGIN EC PRIVATE KEY), got ";

    private String problemOf(String certificates, String privateKey) throws IOException {
        TlsOptions tls = TlsOptions.of(write("chain.pem", certificates), write("key.pem", privateKey));
        Throwable problem = catchThrowable(tls::load);
        assertThat(problem).isInstanceOf(IllegalArgumentException.class).hasNoCause();
        return String.valueOf(problem.getMessage());
    }

    /** PKCS #8 and OpenSSL's older way, which puts headers into the block. */
    @Test
    void should_say_how_to_decrypt_an_encrypted_key() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        String advice = "private key file " + directory.resolve("key.pem") + KEY_EXPECTED
                + "an encrypted one. Decrypt it with openssl pkey -in FILE -out NEW-FILE";
        String plain = bundle.getPrivateKeyPEM();
        String header = "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n";

        assertThat(problemOf(bundle.getCertificatePathPEM(), plain.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")))
                .isEqualTo(advice);
        assertThat(problemOf(
                        bundle.getCertificatePathPEM(),
                        plain.replaceFirst("BEGIN PRIVATE KEY-----\\R", "BEGIN " + header)
                                .replace("END PRIVATE KEY", "END RSA PRIVATE KEY")))
                .isEqualTo(advice);
    }

    @ParameterizedTest
    @CsvSource({
        "OPENSSH PRIVATE KEY, BEGIN OPENSSH PRIVATE KEY",
        "DSA PRIVATE KEY, BEGIN DSA PRIVATE KEY",
        "PUBLIC KEY, only PUBLIC KEY",
        "EC PRIVATE KEY, an EC key that is damaged or does not name its curve",
        "RSA PRIVATE KEY, 'one that is damaged, or neither RSA, EC with a curve that TLS uses, nor EdDSA'",
    })
    void should_say_what_it_found_where_a_key_was_expected(String label, String found) throws Exception {
        X509Bundle bundle = bundle(Algorithm.ed25519);

        assertThat(problemOf(
                        bundle.getCertificatePathPEM(),
                        bundle.getPrivateKeyPEM().replace("PRIVATE KEY", label)))
                .isEqualTo("private key file " + directory.resolve("key.pem") + KEY_EXPECTED + found);
    }

    /** Whatever is wrong with a key file: the file is named, and no part of the key is shown. */
    @ParameterizedTest
    @EnumSource(KeyFormat.class)
    void should_not_show_any_part_of_a_damaged_key(KeyFormat format) throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        PrivateKey key = bundle.getKeyPair().getPrivate();
        String good = format.write(key);
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < 300; i++) {
            StringBuilder damaged = new StringBuilder(good);
            int at = random.nextInt(good.length());
            switch (random.nextInt(3)) {
                case 0 -> damaged.setCharAt(at, (char) (' ' + random.nextInt(95)));
                case 1 -> damaged.delete(at, Math.min(good.length(), at + 1 + random.nextInt(80)));
                default -> damaged.insert(at, good, 0, random.nextInt(good.length()));
            }
            Path chain = write("chain.pem", bundle.getCertificatePathPEM());
            Path file = write("key.pem", damaged.toString());
            try {
                assertSame(TlsOptions.of(chain, file).load().privateKey(), key);
            } catch (IllegalArgumentException problem) {
                assertThat(problem.getMessage()).as("seed %d", seed).contains(file.toString());
                String shown = problem.getMessage().replace(directory.toString(), "");
                good.lines().filter(line -> !line.startsWith("-")).forEach(line -> {
                    for (int from = 0; from + 8 <= line.length(); from++) {
                        assertThat(shown).as("seed %d", seed).doesNotContain(line.substring(from, from + 8));
                    }
                });
            }
        }
    }

    @Test
    void should_say_which_certificate_must_come_first() throws Exception {
        X509Bundle own = bundle(Algorithm.ecp256);
        String others = bundle(Algorithm.rsa2048).getCertificatePathPEM()
                + bundle(Algorithm.ecp256).getCertificatePathPEM();

        assertThat(problemOf(others + own.getCertificatePathPEM(), own.getPrivateKeyPEM()))
                .isEqualTo("certificate chain file " + directory.resolve("chain.pem")
                        + ": expected the certificate of the key first, got it at position 3. The key is in private"
                        + " key file " + directory.resolve("key.pem"));
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

    @Test
    void should_refuse_files_without_a_certificate_or_a_key() throws Exception {
        X509Bundle bundle = bundle(Algorithm.ecp256);
        Path chain = write("chain.pem", bundle.getCertificatePathPEM());
        Path key = write("key.pem", bundle.getPrivateKeyPEM());
        Path broken = write("broken.pem", bundle.getCertificatePathPEM().replaceFirst("\nM", "\nQ"));

        assertThatThrownBy(TlsOptions.of(key, key)::load)
                .hasMessage("certificate chain file " + key + ": expected certificates in PEM, got only PRIVATE KEY");
        assertThatThrownBy(TlsOptions.of(chain, chain)::load)
                .hasMessage("private key file " + chain + KEY_EXPECTED + "only CERTIFICATE");
        Path empty = write("empty.pem", "");
        assertThatThrownBy(TlsOptions.of(chain, empty)::load)
                .hasMessage("private key file " + empty + KEY_EXPECTED + "none");
        assertThatThrownBy(TlsOptions.of(broken, key)::load)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("certificate chain file " + broken + ": expected certificates in PEM, got one");
        assertThatThrownBy(TlsOptions.of(directory.resolve("none"), key)::load)
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("certificate chain file " + directory.resolve("none")
                        + " cannot be read: java.nio.file.NoSuchFileException: ");
    }
}
