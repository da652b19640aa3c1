package io.lambdadispatcher.wire.http;

import io.netty.util.AsciiString;

/**
 * The request headers with which proxies say what the client is and what it has asked for. Names
 * are in lower case. The dispatcher drops those that no trusted proxy writes. Any thread.
 */
public final class ProxyHeaders {
    /** Of requests that proxies write, except those that begin with one of {@link #PREFIXES}. */
    private static final NameSet CONVENTIONS = NameSet.of(
            "forwarded",
            "forwarded-for",
            "forwarded-host",
            "forwarded-proto",
            "proxy", // CGI makes HTTP_PROXY of it (CVE-2016-5385).
            "x-real-ip",
            "x-real-host",
            "client-ip",
            "x-client-ip",
            "true-client-ip",
            "x-cluster-client-ip",
            "x-remote-ip",
            "x-remote-addr",
            "x-proxyuser-ip",
            "proxy-client-ip",
            "wl-proxy-client-ip",
            "wl-proxy-ssl",
            "cf-connecting-ip",
            "cf-connecting-ipv6",
            "cf-visitor",
            "fastly-client-ip",
            "fastly-ssl",
            "x-azure-clientip",
            "x-azure-socketip",
            "x-appengine-user-ip",
            "x-arr-ssl",
            "front-end-https",
            "x-host",
            "x-http-host-override",
            "x-rewrite-url",
            "x-scheme",
            "x-url-scheme");

    private static final AsciiString[] PREFIXES = {
        AsciiString.cached("x-forwarded"),
        AsciiString.cached("x-original-"),
        AsciiString.cached("x-envoy-"),
        AsciiString.cached("x-amzn-oidc-"),
        AsciiString.cached("x-amzn-mtls-"),
        AsciiString.cached("cloudfront-")
    };

    /** Some of these headers say only from where and how a request has come. */
    private static final NameSet DELIVERY = NameSet.of(
            "x-envoy-attempt-count",
            "x-envoy-expected-rq-timeout-ms",
            "x-forwarded-for",
            "x-original-forwarded-for",
            "x-envoy-external-address",
            "forwarded-for",
            "x-real-ip",
            "client-ip",
            "x-client-ip",
            "true-client-ip",
            "x-cluster-client-ip",
            "x-remote-ip",
            "x-remote-addr",
            "x-proxyuser-ip",
            "proxy-client-ip",
            "wl-proxy-client-ip",
            "cf-connecting-ip",
            "cf-connecting-ipv6",
            "fastly-client-ip",
            "x-azure-clientip",
            "x-azure-socketip",
            "x-appengine-user-ip");

    /** The others say where the client is, and how it is connected. */
    private static final AsciiString VIEWER = AsciiString.cached("cloudfront-viewer-");

    private ProxyHeaders() {}

    /** Returns one bit for the first letter of each, see {@link HopByHop#firstLetters}. */
    public static long firstLetters() {
        return HopByHop.firstLetters(PREFIXES) | CONVENTIONS.firstLetters();
    }

    /** Returns whether an application can take the header for one of these. */
    public static boolean contains(CharSequence name) {
        for (AsciiString prefix : PREFIXES) {
            if (HeaderSyntax.beginsLike(name, prefix)) {
                return true;
            }
        }
        return CONVENTIONS.containsLike(name);
    }

    /**
     * Returns whether the header says only from where and how a request has come: the address and
     * the place of the client, and which attempt this is. Others say who the client is, or what it
     * has asked for.
     */
    public static boolean isOfDelivery(CharSequence name) {
        return DELIVERY.contains(name) || HeaderSyntax.beginsLike(name, VIEWER);
    }
}
