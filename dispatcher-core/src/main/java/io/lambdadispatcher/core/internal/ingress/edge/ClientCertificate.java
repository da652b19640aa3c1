package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.security.auth.x500.X500Principal;
import org.jspecify.annotations.Nullable;

/**
 * Describes the certificate of a client (mTLS) for the application, as Envoy does in {@code
 * x-forwarded-client-cert}: {@code Hash=...;Subject="CN=a,O=b";URI=spiffe://a/b;DNS=c}. Stateless.
 */
public final class ClientCertificate {
    static final AsciiString HEADER = AsciiString.cached("x-forwarded-client-cert");

    private static final int DNS = 2;
    private static final int URI = 6;

    /** A certificate can have any number of names, and each request has this header. */
    private static final int MAX_NAMES_CHARS = 1024;

    private ClientCertificate() {}

    /** Returns the value of the header; {@code null} = the client has no certificate. */
    public static @Nullable AsciiString of(SSLSession session) {
        try {
            Certificate[] chain = session.getPeerCertificates();
            return chain.length > 0 && chain[0] instanceof X509Certificate own ? describe(own) : null;
        } catch (SSLPeerUnverifiedException e) {
            return null;
        }
    }

    static AsciiString describe(X509Certificate certificate) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(certificate.getEncoded());
            String subject = certificate.getSubjectX500Principal().getName(X500Principal.RFC2253);
            StringBuilder text =
                    new StringBuilder("Hash=").append(HexFormat.of().formatHex(digest));
            text.append(";Subject=\"")
                    .append(escaped(subject.replace("\\\"", "\\22")))
                    .append('"');
            appendNames(text, certificate.getSubjectAlternativeNames());
            return new AsciiString(text);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("a verified certificate cannot be encoded", e);
        }
    }

    private static void appendNames(StringBuilder text, @Nullable Collection<List<?>> names) {
        int limit = text.length() + MAX_NAMES_CHARS;
        for (List<?> name : names == null ? List.<List<?>>of() : names) {
            boolean told = name.get(0).equals(DNS) || name.get(0).equals(URI);
            String value = told ? escaped((String) name.get(1)).replace("\"", "%22") : "";
            if (told && text.length() + value.length() <= limit) {
                text.append(name.get(0).equals(URI) ? ";URI=\"" : ";DNS=\"")
                        .append(value)
                        .append('"');
            }
        }
    }

    /** Escapes what a header must not have as the bytes of UTF-8 (RFC 4514 section 2.4). */
    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder(text.length());
        for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
            if (each >= ' ' && each < 0x7F) {
                escaped.append((char) each);
            } else {
                escaped.append('\\').append(HexFormat.of().toHexDigits(each));
            }
        }
        return escaped.toString();
    }
}
