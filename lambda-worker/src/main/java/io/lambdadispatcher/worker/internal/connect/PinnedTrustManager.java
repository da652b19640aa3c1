package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.worker.PortKey;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Accepts a dispatcher whose public key has one of the fingerprints, whatever else its certificate
 * says (RFC 7469 section 2.6, without authorities). TLS proves that the dispatcher has the private
 * key. Any thread.
 */
final class PinnedTrustManager extends X509ExtendedTrustManager {
    private final Collection<String> fingerprints;

    /** @param fingerprints in lower-case hexadecimal */
    PinnedTrustManager(Collection<String> fingerprints) {
        this.fingerprints = fingerprints;
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        String seen = PortKey.fingerprint(chain[0].getPublicKey());
        if (!fingerprints.contains(seen)) {
            throw new CertificateException("the dispatcher has a public key with the fingerprint " + seen
                    + ", expected " + String.join(" or ", fingerprints));
        }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws CertificateException {
        checkServerTrusted(chain, authType);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws CertificateException {
        checkServerTrusted(chain, authType);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        throw new CertificateException("a worker has no clients");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws CertificateException {
        checkClientTrusted(chain, authType);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws CertificateException {
        checkClientTrusted(chain, authType);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0];
    }
}
