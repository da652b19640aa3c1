package io.lambdadispatcher.server.transport;

import io.netty.handler.ssl.OpenSsl;
import javax.net.ssl.SSLContext;

/** Describes the TLS provider: OpenSSL if it loads, otherwise the JDK. */
public final class TlsProvider {
    private TlsProvider() {}

    /** Returns the description in one line, for the log. */
    public static String description() {
        if (OpenSsl.isAvailable()) {
            return OpenSsl.versionString() + " (netty-tcnative)";
        }
        return "JDK " + Runtime.version() + " (" + jdkProvider() + "), netty-tcnative does not load: "
                + OpenSsl.unavailabilityCause();
    }

    private static String jdkProvider() {
        try {
            return SSLContext.getDefault().getProvider().getName();
        } catch (java.security.NoSuchAlgorithmException e) {
            return "no provider: " + e.getMessage();
        }
    }
}
