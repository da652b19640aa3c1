package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
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

    private ForwardingPolicy(Builder from) {
        trust = from.trust;
        headers = from.headers;
        via = from.via;
        clientHeader = header("clientHeader", from.clientHeader);
        requestIdHeader = header("requestIdHeader", from.requestIdHeader);
        Check.that(
                clientHeader.isEmpty() || trust == Trust.APPEND,
                "clientHeader",
                clientHeader,
                "no value unless trust is APPEND");
    }

    private static String header(String option, String name) {
        boolean valid = name.isEmpty() || HeaderSyntax.isToken(name) && name.equals(name.toLowerCase(Locale.ROOT));
        Check.that(valid, option, name, "a header name in lower case");
        return name;
    }

    /** Whether the forwarding headers of a request are trusted. */
    public enum Trust {
        /**
         * Removes {@code forwarded} and all {@code x-forwarded-*} headers of a request. Use it if
         * clients connect without a proxy.
         */
        REPLACE,
        /**
         * Keeps the forwarding headers of a request, and appends to those that {@link Headers}
         * selects. Use it only if all clients connect through a proxy that you trust. Variants with
         * underscores, such as {@code x_forwarded_for}, are removed.
         */
        APPEND
    }

    /** Which forwarding headers the dispatcher adds to requests. */
    public enum Headers {
        /** No forwarding headers. */
        NONE,
        /**
         * {@code x-forwarded-for}, {@code x-forwarded-proto} and, if the request names a host,
         * {@code x-forwarded-host}.
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

    /**
     * Returns the header that names the client, in lower case, or an empty string if there is none.
     * See {@link Builder#clientHeader}.
     */
    public String clientHeader() {
        return clientHeader;
    }

    /**
     * Returns the header that has the request's id, in lower case, or an empty string if requests
     * get no id. See {@link Builder#requestIdHeader}.
     */
    public String requestIdHeader() {
        return requestIdHeader;
    }

    /**
     * Builds a {@link ForwardingPolicy}. Setters reject {@code null}, and {@link #build} validates
     * the names of headers. Not thread-safe.
     */
    public static final class Builder {
        private Trust trust = Trust.REPLACE;
        private Headers headers = Headers.X_FORWARDED;
        private boolean via = true;
        private String clientHeader = "";
        private String requestIdHeader = "";

        private Builder() {}

        /**
         * Sets whether forwarding headers of a request are trusted. Default: {@link Trust#REPLACE}.
         */
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
         * 9110 section 7.6.3). Default: true.
         */
        public Builder via(boolean value) {
            via = value;
            return this;
        }

        /**
         * Sets the header whose value names the client, for fairness between clients. It requires
         * {@link Trust#APPEND} and a proxy that sets the header. Otherwise, a client could send
         * another name with each request.
         *
         * <p>Without the header, a client is identified by an IPv4 address or by the first 64 bits
         * of an IPv6 address. With {@link Trust#APPEND}, it is the last client in {@code
         * x-forwarded-for} or {@code forwarded} of the request. Otherwise, it is the remote address
         * of the connection. Default: no header.
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
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a name is not a header name in lower case, or if
         *     there is a client header without {@link Trust#APPEND}
         */
        public ForwardingPolicy build() {
            return new ForwardingPolicy(this);
        }
    }
}
