package io.lambdadispatcher.core.options;

/**
 * Which versions and cipher suites of TLS a port offers: the names and contents of Mozilla's <a
 * href="https://wiki.mozilla.org/Security/Server_Side_TLS">Server Side TLS</a>.
 */
public enum TlsProfile {
    /** TLS 1.3 and 1.2, the latter with forward secrecy and authenticated encryption only. */
    INTERMEDIATE,
    /** TLS 1.3 only. */
    MODERN
}
