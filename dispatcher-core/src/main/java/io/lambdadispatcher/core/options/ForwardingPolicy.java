package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.Locale;
import java.util.Objects;

/**
 * What the dispatcher tells handlers about a request's client, and what it adds to messages.
 * Immutable. {@link Builder} states the defaults.
 */
public final class ForwardingPolicy {
    private final Trust trust;
    private final Fields fields;
    private final boolean via;
    private final String clientHeader;
    private final String requestIdHeader;

    private ForwardingPolicy(Builder from) {
        trust = from.trust;
        fields = from.fields;
        via = from.via;
        clientHeader = header("clientHeader", from.clientHeader);
        requestIdHeader = header("requestIdHeader", from.requestIdHeader);
        Check.that(
                clientHeader.isEmpty() || trust == Trust.APPEND,
                "clientHeader",
                clientHeader,
                "none unless trust is APPEND");
    }

    private static String header(String option, String name) {
        boolean valid = name.isEmpty() || HeaderSyntax.isToken(name) && name.equals(name.toLowerCase(Locale.ROOT));
        Check.that(valid, option, name, "a header name in lower case");
        return name;
    }

    /** Which forwarding headers of a request are believed. */
    public enum Trust {
        /**
         * No proxy is in front of the dispatcher: {@code forwarded} and {@code x-forwarded-*}
         * headers of a request are removed.
         */
        REPLACE,
        /**
         * A trusted proxy is in front of the dispatcher: its forwarding headers are kept and
         * appended to.
         */
        APPEND
    }

    /** Which forwarding headers are set. */
    public enum Fields {
        NONE,
        /** {@code x-forwarded-for}, {@code x-forwarded-proto} and {@code x-forwarded-host}. */
        X_FORWARDED,
        /** {@code forwarded} (RFC 7239). */
        FORWARDED,
        BOTH
    }

    public static ForwardingPolicy defaults() {
        return builder().build();
    }

    public static Builder builder() {
        return new Builder();
    }

    public Trust trust() {
        return trust;
    }

    public Fields fields() {
        return fields;
    }

    public boolean via() {
        return via;
    }

    /** Returns an empty string if clients are told apart by address. */
    public String clientHeader() {
        return clientHeader;
    }

    /** Returns an empty string if requests get no id. */
    public String requestIdHeader() {
        return requestIdHeader;
    }

    /** Not thread-safe. */
    public static final class Builder {
        private Trust trust = Trust.REPLACE;
        private Fields fields = Fields.X_FORWARDED;
        private boolean via = true;
        private String clientHeader = "";
        private String requestIdHeader = "";

        private Builder() {}

        /** Default: {@link Trust#REPLACE}. */
        public Builder trust(Trust value) {
            trust = Objects.requireNonNull(value, "trust");
            return this;
        }

        /** Default: {@link Fields#X_FORWARDED}. */
        public Builder fields(Fields value) {
            fields = Objects.requireNonNull(value, "fields");
            return this;
        }

        /**
         * Sets whether {@code via} is added to requests and responses (RFC 9110 section 7.6.3).
         * Default: true.
         */
        public Builder via(boolean value) {
            via = value;
            return this;
        }

        /**
         * Tells clients apart by the value of this header, for fairness between clients. It
         * requires {@link Trust#APPEND}, because a client that sets the header itself could be a
         * new client with each request. Default: clients are told apart by address.
         *
         * @param name in lower case, or empty
         */
        public Builder clientHeader(String name) {
            clientHeader = Objects.requireNonNull(name, "clientHeader");
            return this;
        }

        /**
         * Gives each client request that has no such header one with a random id of 32 hexadecimal
         * digits. Error responses of the dispatcher have the request's id in the same header.
         * Default: requests get no id.
         *
         * @param name in lower case, for example {@code x-request-id}, or empty
         */
        public Builder requestIdHeader(String name) {
            requestIdHeader = Objects.requireNonNull(name, "requestIdHeader");
            return this;
        }

        /**
         * @throws IllegalArgumentException if a name is malformed, or if there is a client header
         *     without {@link Trust#APPEND}
         */
        public ForwardingPolicy build() {
            return new ForwardingPolicy(this);
        }
    }
}
