package io.lambdadispatcher.core.options;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A PEM file that has been read (RFC 7468). Blocks of other kinds, and text between blocks, are
 * ignored. A damaged block is an error, because a chain without one of its certificates fails later
 * and far from its cause. Immutable.
 */
final class PemFile {
    private static final Pattern BOUNDARY = Pattern.compile("-----(BEGIN|END) ([^-\\r\\n]*)-----");

    /** RSA keys that are restricted to RSASSA-PSS (RFC 4055), which BoringSSL cannot use. */
    private static final String PSS = "RSASSA-PSS";

    private static final String PSS_REFUSED =
            "one for RSASSA-PSS only, which not every TLS library can use. Create the key"
                    + " and its certificate again, with the algorithm RSA";

    private static final List<String> KEY_ALGORITHMS = List.of("RSA", "EC", "EdDSA");

    /**
     * A block.
     *
     * @param line where it begins, from 1
     * @param text what is between its boundaries
     */
    private record Block(String label, int line, String text) {}

    private final String what;
    private final Path file;
    private final List<Block> blocks = new ArrayList<>();

    /**
     * Reads a file.
     *
     * @param what names the contents in messages
     * @throws UncheckedIOException if the file cannot be read
     * @throws IllegalArgumentException if a block has no begin or no end
     */
    PemFile(String what, Path file) {
        this.what = what;
        this.file = file;
        String contents = read();
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
            throw invalid(
                    "expected base64 in the block " + block.label + " that begins in line " + block.line
                            + ", got other text",
                    e);
        }
    }

    private String read() {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(new IOException(what + " file " + file + " cannot be read", e));
        }
    }

    /** @throws IllegalArgumentException if there is none, or if one is not valid */
    List<X509Certificate> certificates() {
        List<X509Certificate> certificates = new ArrayList<>();
        for (Block block : blocks) {
            if (block.label.endsWith("CERTIFICATE")) {
                certificates.add(certificate(block));
            }
        }
        if (certificates.isEmpty()) {
            throw invalid("expected certificates in PEM, got none", null);
        }
        return List.copyOf(certificates);
    }

    /**
     * Returns the certificates of a port that has a key.
     *
     * @throws IllegalArgumentException if there is none, if one is not valid, or if the key of the
     *     first one cannot be used for TLS
     */
    List<X509Certificate> chain() {
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

    /** @throws IllegalArgumentException if there is no key that is in PKCS #8 and not encrypted */
    PrivateKey privateKey() {
        String expected = "expected a private key in PEM, PKCS #8, not encrypted (BEGIN PRIVATE KEY), got ";
        Block key = blocks.stream()
                .filter(block -> block.label.endsWith("PRIVATE KEY"))
                .findFirst()
                .orElseThrow(() -> invalid(expected + "none", null));
        if (!key.label.equals("PRIVATE KEY")) {
            throw invalid(expected + "BEGIN " + key.label + ". Convert it with openssl pkcs8 -topk8 -nocrypt", null);
        }
        PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(decode(key));
        for (String algorithm : KEY_ALGORITHMS) {
            PrivateKey found = key(algorithm, spec);
            if (found != null) {
                return found;
            }
        }
        throw invalid(
                expected + (key(PSS, spec) == null ? "one that is neither RSA, EC nor EdDSA" : PSS_REFUSED), null);
    }

    /** Returns {@code null} if it is a key of another algorithm. */
    private static @Nullable PrivateKey key(String algorithm, PKCS8EncodedKeySpec spec) {
        try {
            return KeyFactory.getInstance(algorithm).generatePrivate(spec);
        } catch (GeneralSecurityException e) {
            return null;
        }
    }

    private IllegalArgumentException invalid(String problem, @Nullable Throwable cause) {
        return new IllegalArgumentException(what + " file " + file + ": " + problem, cause);
    }
}
