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
 * ignored. Immutable.
 */
final class PemFile {
    private static final Pattern BLOCK = Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\\s]+)-----END");
    private static final List<String> KEY_ALGORITHMS = List.of("RSA", "EC", "EdDSA");

    private record Block(String label, byte[] bytes) {}

    private final String what;
    private final Path file;
    private final List<Block> blocks = new ArrayList<>();

    /**
     * Reads a file.
     *
     * @param what names the contents in messages
     * @throws UncheckedIOException if the file cannot be read
     * @throws IllegalArgumentException if a block is not valid base64
     */
    PemFile(String what, Path file) {
        this.what = what;
        this.file = file;
        Matcher matcher = BLOCK.matcher(read());
        while (matcher.find()) {
            try {
                blocks.add(new Block(
                        matcher.group(1),
                        Base64.getDecoder().decode(matcher.group(2).replaceAll("\\s", ""))));
            } catch (IllegalArgumentException e) {
                throw invalid("expected base64 in the block " + matcher.group(1) + ", got other text", e);
            }
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
        try {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            for (Block block : blocks) {
                if (block.label.endsWith("CERTIFICATE")) {
                    certificates.add(
                            (X509Certificate) factory.generateCertificate(new ByteArrayInputStream(block.bytes)));
                }
            }
        } catch (GeneralSecurityException e) {
            throw invalid("expected certificates in PEM, got one that is not valid: " + e.getMessage(), e);
        }
        if (certificates.isEmpty()) {
            throw invalid("expected certificates in PEM, got none", null);
        }
        return List.copyOf(certificates);
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
        PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(key.bytes);
        for (String algorithm : KEY_ALGORITHMS) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(spec);
            } catch (GeneralSecurityException e) {
                // A key of another algorithm.
            }
        }
        throw invalid(expected + "one that is neither RSA, EC nor EdDSA", null);
    }

    private IllegalArgumentException invalid(String problem, @Nullable Throwable cause) {
        return new IllegalArgumentException(what + " file " + file + ": " + problem, cause);
    }
}
