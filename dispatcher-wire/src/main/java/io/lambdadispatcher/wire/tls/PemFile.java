package io.lambdadispatcher.wire.tls;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Security;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509CRL;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A PEM file that has been read (RFC 7468), with certificates or a private key for TLS. Blocks of
 * other kinds, and text between blocks, are ignored. A damaged block is an error, because a chain
 * without one of its certificates fails later and far from its cause.
 *
 * <p>Keys are read in the three formats that tools write: PKCS #8 (RFC 5958), PKCS #1 for RSA (RFC
 * 8017, appendix A.1.2) and SEC 1 for EC (RFC 5915). Immutable; any thread.
 *
 * <p><b>Errors.</b> Messages name the file, and what was expected and found there. They never
 * contain any part of a key.
 */
public final class PemFile {
    /** See {@link #keyStoreType}. */
    private static final String QUICK_STORE = "JKS";

    private static final Pattern BOUNDARY = Pattern.compile("-----(BEGIN|END) ([^-\\r\\n]*)-----");

    /** RSA keys that are restricted to RSASSA-PSS (RFC 4055), which BoringSSL cannot use. */
    private static final String PSS = "RSASSA-PSS";

    private static final String PSS_REFUSED =
            "one for RSASSA-PSS only, which not every TLS library can use. Create the key"
                    + " and its certificate again, with the algorithm RSA";

    private static final List<String> KEY_ALGORITHMS = List.of("RSA", "EC", "EdDSA");

    private static final String KEY_EXPECTED = "expected a private key in PEM that is not encrypted (BEGIN PRIVATE"
            + " KEY, BEGIN RSA PRIVATE KEY or BEGIN EC PRIVATE KEY), got ";

    /**
     * A block.
     *
     * @param line where it begins, from 1
     * @param text what is between its boundaries
     */
    private record Block(String label, int line, String text) {}

    private final String name;
    private final List<Block> blocks = new ArrayList<>();

    private PemFile(String name, String contents) {
        this.name = name;
        Matcher boundary = BOUNDARY.matcher(contents);
        while (boundary.find()) {
            int line = lineOf(contents, boundary.start());
            if (!boundary.group(1).equals("BEGIN")) {
                throw invalid(
                        "expected " + boundary.group() + " in line " + line + " to end a block, got no begin", null);
            }
            String label = boundary.group(2);
            int start = boundary.end();
            if (!boundary.find()
                    || !boundary.group(1).equals("END")
                    || !boundary.group(2).equals(label)) {
                throw invalid(
                        "expected -----END " + label + "----- after the block that begins in line " + line
                                + ", got none",
                        null);
            }
            blocks.add(new Block(label, line, contents.substring(start, boundary.start())));
        }
    }

    /**
     * Returns the type of key store in which Netty passes a key to TLS, in memory: JKS if a
     * provider has it. The default type encrypts and decrypts the key with 10,000 rounds, which are
     * 0.4 s of the processor time in which the dispatcher starts.
     */
    public static String keyStoreType() {
        boolean has = Security.getProviders("KeyStore." + QUICK_STORE) != null;
        return has ? QUICK_STORE : KeyStore.getDefaultType();
    }

    /**
     * Reads a file.
     *
     * @param what names the contents in messages
     * @throws UncheckedIOException if the file cannot be read
     * @throws IllegalArgumentException if a block has no begin or no end
     */
    public static PemFile read(String what, Path file) {
        String name = what + " file " + file;
        try {
            return new PemFile(name, Files.readString(file, StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
            throw new UncheckedIOException(new IOException(name + " cannot be read: " + e, e));
        }
    }

    /**
     * Reads a text that came from elsewhere than a file.
     *
     * @param name names the text in messages
     * @throws IllegalArgumentException if a block has no begin or no end
     */
    public static PemFile ofText(String name, String contents) {
        return new PemFile(name, contents);
    }

    private static int lineOf(String contents, int end) {
        return 1
                + (int) contents.substring(0, end)
                        .chars()
                        .filter(each -> each == '\n')
                        .count();
    }

    private byte[] decode(Block block) {
        try {
            return Base64.getDecoder().decode(block.text.replaceAll("\\s", ""));
        } catch (IllegalArgumentException e) {
            // Without its cause, which quotes a character.
            throw invalid(
                    "expected base64 in the block " + block.label + " that begins in line " + block.line
                            + ", got other text",
                    null);
        }
    }

    /** @throws IllegalArgumentException if there is none, or if one is not valid */
    public List<X509Certificate> certificates() {
        List<X509Certificate> certificates = new ArrayList<>();
        for (Block block : blocks) {
            if (block.label.endsWith("CERTIFICATE")) {
                certificates.add(certificate(block));
            }
        }
        if (certificates.isEmpty()) {
            throw invalid("expected certificates in PEM, got " + contents(), null);
        }
        return List.copyOf(certificates);
    }

    /**
     * Returns the lists of revoked certificates (RFC 5280, section 5), which may be none.
     *
     * @throws IllegalArgumentException if one is not valid
     */
    public List<X509CRL> revocations() {
        List<X509CRL> lists = new ArrayList<>();
        for (Block block : blocks) {
            if (block.label.equals("X509 CRL")) {
                byte[] bytes = decode(block);
                try {
                    lists.add((X509CRL)
                            CertificateFactory.getInstance("X.509").generateCRL(new ByteArrayInputStream(bytes)));
                } catch (GeneralSecurityException e) {
                    throw invalid(
                            "expected revocation lists in PEM, got one that is not valid, in line " + block.line + ": "
                                    + e.getMessage(),
                            e);
                }
            }
        }
        return List.copyOf(lists);
    }

    /**
     * Returns the certificates of a port that has a key.
     *
     * @throws IllegalArgumentException if there is none, if one is not valid, or if the key of the
     *     first one cannot be used for TLS
     */
    public List<X509Certificate> chain() {
        List<X509Certificate> chain = certificates();
        String algorithm = chain.get(0).getPublicKey().getAlgorithm();
        if (!KEY_ALGORITHMS.contains(algorithm)) {
            throw invalid(
                    "expected a certificate with an RSA, EC or EdDSA key first, got "
                            + (algorithm.equals(PSS) ? PSS_REFUSED : "one with the key algorithm " + algorithm),
                    null);
        }
        return chain;
    }

    private X509Certificate certificate(Block block) {
        byte[] bytes = decode(block);
        try {
            return (X509Certificate)
                    CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(bytes));
        } catch (GeneralSecurityException e) {
            throw invalid(
                    "expected certificates in PEM, got one that is not valid, in line " + block.line + ": "
                            + e.getMessage(),
                    e);
        }
    }

    /**
     * Returns the private key of a certificate chain.
     *
     * @param chain the file with the chain, which may be this one
     * @throws IllegalArgumentException if there is no key that can be used, or if it does not
     *     belong to the first certificate of the chain
     */
    public PrivateKey keyOf(PemFile chain) {
        List<X509Certificate> certificates = chain.chain();
        PrivateKey key = privateKey();
        for (int i = 0; i < certificates.size(); i++) {
            if (belong(certificates.get(i).getPublicKey(), key)) {
                if (i == 0) {
                    return key;
                }
                throw chain.invalid(
                        "expected the certificate of the key first, got it at position " + (i + 1) + ". The key is in "
                                + name,
                        null);
            }
        }
        throw invalid("expected the key of the first certificate in " + chain.name + ", got another key", null);
    }

    /** Signs with the private key and verifies with the public key. */
    private static boolean belong(PublicKey publicKey, PrivateKey key) {
        String algorithm = switch (publicKey.getAlgorithm()) {
            case "RSA" -> "SHA256withRSA";
            case "EC" -> "SHA256withECDSA";
            default -> publicKey.getAlgorithm();
        };
        byte[] signed = {1};
        try {
            Signature signature = Signature.getInstance(algorithm);
            signature.initSign(key);
            signature.update(signed);
            byte[] bytes = signature.sign();
            signature.initVerify(publicKey);
            signature.update(signed);
            return signature.verify(bytes);
        } catch (GeneralSecurityException e) {
            return false;
        }
    }

    private PrivateKey privateKey() {
        Block key = blocks.stream()
                .filter(block -> block.label.endsWith("PRIVATE KEY"))
                .findFirst()
                .orElseThrow(() -> invalid(KEY_EXPECTED + contents(), null));
        // OpenSSL encrypts the older formats with this header of RFC 1421.
        if (key.label.equals("ENCRYPTED PRIVATE KEY") || key.text.contains("Proc-Type:")) {
            throw invalid(KEY_EXPECTED + "an encrypted one. Decrypt it with openssl pkey -in FILE -out NEW-FILE", null);
        }
        PKCS8EncodedKeySpec spec = switch (key.label) {
            case "PRIVATE KEY" -> new PKCS8EncodedKeySpec(decode(key));
            case "RSA PRIVATE KEY" -> new PKCS8EncodedKeySpec(KeyEncoding.ofPkcs1(decode(key)));
            case "EC PRIVATE KEY" -> new PKCS8EncodedKeySpec(ofSec1(decode(key)));
            default -> throw invalid(KEY_EXPECTED + "BEGIN " + key.label, null);
        };
        for (String algorithm : KEY_ALGORITHMS) {
            PrivateKey found = key(algorithm, spec);
            if (found != null) {
                return found;
            }
        }
        throw invalid(
                KEY_EXPECTED
                        + (key(PSS, spec) == null
                                ? "one that is damaged, or neither RSA, EC with a curve that TLS uses, nor EdDSA"
                                : PSS_REFUSED),
                null);
    }

    /**
     * The curve is in the key, or in a block before it, as {@code openssl ecparam -genkey} writes.
     */
    private byte[] ofSec1(byte[] key) {
        byte[] curve = blocks.stream()
                .filter(block -> block.label.equals("EC PARAMETERS"))
                .findFirst()
                .map(this::decode)
                .orElse(null);
        byte[] encoded = KeyEncoding.ofSec1(key, curve);
        if (encoded == null) {
            throw invalid(KEY_EXPECTED + "an EC key that is damaged or does not name its curve", null);
        }
        return encoded;
    }

    /** Returns {@code null} if it is a key of another algorithm. */
    private static @Nullable PrivateKey key(String algorithm, PKCS8EncodedKeySpec spec) {
        try {
            return KeyFactory.getInstance(algorithm).generatePrivate(spec);
        } catch (GeneralSecurityException e) {
            return null;
        }
    }

    /** Returns what the file has instead of what was expected. */
    private String contents() {
        return blocks.isEmpty()
                ? "none"
                : "only "
                        + blocks.stream().map(Block::label).distinct().limit(3).collect(Collectors.joining(", "));
    }

    private IllegalArgumentException invalid(String problem, @Nullable Throwable cause) {
        return new IllegalArgumentException(name + ": " + problem, cause);
    }
}
