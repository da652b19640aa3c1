package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * Settings for the headers that tell handlers about a request's client. {@link Builder} states the
 * defaults. Immutable.
 *
 * <pre>{@code
 * ForwardingPolicy behindProxy = ForwardingPolicy.builder()
 *         .trust(ForwardingPolicy.Trust.APPEND)
 *         .requestIdHeader("x-request-id")
 *         .build();
 * }</pre>
 *
 * <p>It applies to requests of HTTP clients. Requests of {@code Dispatcher.dispatch} get no
 * forwarding headers.
 */
public final class ForwardingPolicy {
    private final Trust trust;
    private final Headers headers;
    private final boolean via;
    private final String clientHeader;
    private final String requestIdHeader;
    private final List<String> trustedHeaders;

    private ForwardingPolicy(Builder from) {
        trust = from.trust;
        headers = from.headers;
        via = from.via;
        clientHeader = header("clientHeader", from.clientHeader);
        requestIdHeader = header("requestIdHeader", from.requestIdHeader);
        trustedHeaders = from.trustedHeaders.stream()
                .map(name -> header("trustedHeaders", name))
                .toList();
        Check.that(
                clientHeader.isEmpty() || trust.isProxied(),
                "clientHeader",
                clientHeader,
                "no value if trust is REPLACE");
    }

    private static String header(String option, String name) {
        boolean valid = name.isEmpty() || HeaderSyntax.isToken(name) && name.equals(name.toLowerCase(Locale.ROOT));
        Check.that(valid, option, name, "a header name in lower case");
        return name;
    }

    /**
     * Which proxy all clients connect through, and hence whose forwarding headers are trusted.
     * Requests keep the headers that this proxy writes, and lose all others that applications could
     * take for forwarding headers: those come from clients. {@code docs/reference/http.md} lists
     * the headers.
     */
    public enum Trust {
        /**
         * No proxy, or one that passes on bytes, such as a Network Load Balancer, with or without
         * the PROXY protocol.
         */
        REPLACE,
        /** An Application Load Balancer, or another proxy that writes at least these headers. */
        APPEND("x-forwarded-for", "x-forwarded-proto", "x-forwarded-port"),
        /**
         * CloudFront. It has to add {@code cloudfront-viewer-address} if a load balancer follows
         * it: otherwise the client's address is not known.
         */
        CLOUDFRONT(
                "x-forwarded-for",
                "x-forwarded-proto",
                "cloudfront-forwarded-proto",
                "cloudfront-viewer-address",
                "cloudfront-viewer-asn",
                "cloudfront-viewer-city",
                "cloudfront-viewer-country",
                "cloudfront-viewer-country-name",
                "cloudfront-viewer-country-region",
                "cloudfront-viewer-country-region-name",
                "cloudfront-viewer-http-version",
                "cloudfront-viewer-latitude",
                "cloudfront-viewer-longitude",
                "cloudfront-viewer-metro-code",
                "cloudfront-viewer-postal-code",
                "cloudfront-viewer-time-zone",
                "cloudfront-viewer-tls"),
        /** The NGINX Ingress Controller of Kubernetes. */
        INGRESS_NGINX(
                "x-forwarded-for",
                "x-forwarded-proto",
                "x-forwarded-host",
                "x-forwarded-port",
                "x-forwarded-scheme",
                "x-scheme",
                "x-real-ip"),
        /** Envoy, as a proxy at the edge, also in Istio. */
        ENVOY(
                "x-forwarded-for",
                "x-forwarded-proto",
                "x-forwarded-client-cert",
                "x-envoy-external-address",
                "x-envoy-expected-rq-timeout-ms",
                "x-envoy-attempt-count");

        private final List<String> headers;

        Trust(String... headers) {
            this.headers = List.of(headers);
        }

        /** Returns the headers that requests keep because the proxy writes them, in lower case. */
        public List<String> headers() {
            return headers;
        }

        /** Returns whether a proxy names the client. */
        public boolean isProxied() {
            return this != REPLACE;
        }
    }

    /** Which forwarding headers the dispatcher adds to requests. */
    public enum Headers {
        /** No forwarding headers. */
        NONE,
        /**
         * {@code x-forwarded-for}, {@code x-forwarded-proto} and, if the request names a host,
         * {@code x-forwarded-host} and {@code x-forwarded-port}.
         */
        X_FORWARDED,
        /** {@code forwarded} (RFC 7239), if the request names a host. */
        FORWARDED,
        /** The headers of {@link #X_FORWARDED} and {@link #FORWARDED}. */
        BOTH
    }

    /** Returns the policy with the defaults of {@link Builder}. */
    public static ForwardingPolicy defaults() {
        return builder().build();
    }

    /** Starts a policy with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns whether forwarding headers are trusted. See {@link Builder#trust}. */
    public Trust trust() {
        return trust;
    }

    /** Returns which forwarding headers are added. See {@link Builder#headers}. */
    public Headers headers() {
        return headers;
    }

    /** Returns whether {@code via} is added. See {@link Builder#via}. */
    public boolean via() {
        return via;
    }

    /** Returns what {@link Builder#clientHeader} sets, in lower case; empty = none. */
    public String clientHeader() {
        return clientHeader;
    }

    /** Returns what {@link Builder#requestIdHeader} sets, in lower case; empty = none. */
    public String requestIdHeader() {
        return requestIdHeader;
    }

    /** Returns the headers that clients cannot remove. See {@link Builder#trustedHeaders}. */
    public List<String> trustedHeaders() {
        return trustedHeaders;
    }

    /**
     * Builds a {@link ForwardingPolicy}. Setters reject {@code null}, and {@link #build} validates
     * the names of headers. Not thread-safe.
     */
    public static final class Builder {
        private Trust trust = Trust.REPLACE;
        private Headers headers = Headers.X_FORWARDED;
        private boolean via;
        private String clientHeader = "";
        private String requestIdHeader = "";
        private List<String> trustedHeaders = List.of();

        private Builder() {}

        /** Sets which proxy all clients connect through. Default: {@link Trust#REPLACE}. */
        public Builder trust(Trust value) {
            trust = Objects.requireNonNull(value, "trust");
            return this;
        }

        /**
         * Sets which forwarding headers are added to requests. Default: {@link
         * Headers#X_FORWARDED}.
         */
        public Builder headers(Headers value) {
            headers = Objects.requireNonNull(value, "headers");
            return this;
        }

        /**
         * Sets whether {@code via: 1.1 lambda-dispatcher} is added to requests and responses (RFC
         * 9110 section 7.6.3). Servers such as nginx do not compress their responses to requests
         * with this header. Loops are detected without it. Default: false.
         */
        public Builder via(boolean value) {
            via = value;
            return this;
        }

        /**
         * Sets the header whose value names the client, for fairness between clients. It requires
         * {@link #trust} in a proxy that sets the header. Otherwise, a client could send another
         * name with each request.
         *
         * <p>Without the header, a client is identified by an IPv4 address or by the first 64 bits
         * of an IPv6 address. Behind a trusted proxy, this is the last address in {@code
         * x-forwarded-for}, or that in {@code cloudfront-viewer-address}. Otherwise, it is the
         * remote address of the connection. Default: no header.
         *
         * @param name in lower case, for example {@code x-client-id}; empty for none
         */
        public Builder clientHeader(String name) {
            clientHeader = Objects.requireNonNull(name, "clientHeader");
            return this;
        }

        /**
         * Sets the header for request ids. A client request without this header gets one with a
         * random id of 32 hexadecimal digits. The dispatcher's own error responses repeat the id in
         * the same header. Default: requests get no id.
         *
         * @param name in lower case, for example {@code x-request-id}; empty for none
         */
        public Builder requestIdHeader(String name) {
            requestIdHeader = Objects.requireNonNull(name, "requestIdHeader");
            return this;
        }

        /**
         * Sets further headers that the proxy always writes, or that decide about a request, for
         * example {@code x-forwarded-prefix}. Requests keep them, and a client cannot remove them
         * with {@code connection} (RFC 9110 section 7.6.1). The dispatcher adds the headers that
         * its own options name. Default: none.
         *
         * @param names in lower case
         */
        public Builder trustedHeaders(Collection<String> names) {
            trustedHeaders = List.copyOf(names);
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a name is not a header name in lower case, or if
         *     there is a client header with {@link Trust#REPLACE}
         */
        public ForwardingPolicy build() {
            return new ForwardingPolicy(this);
        }
    }
}
