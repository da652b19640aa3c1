package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.Locale;

/**
 * What the handler is told about the client's own connection.
 *
 * @param trust whether {@code forwarded} and {@code x-forwarded-*} fields that came with the
 *     request are kept and added to (a trusted proxy is in front) or removed (they can be made up)
 * @param fields which fields are set
 * @param via add {@code via} to requests and responses (RFC 9110 section 7.6.3)
 * @param clientHeader name of a header, in lower case, whose value names the client for fairness
 *     between clients; empty = clients are told apart by address. Only with {@link Trust#APPEND},
 *     because a client that may set the header itself could be a new client with each request
 */
public record ForwardingPolicy(Trust trust, Fields fields, boolean via, String clientHeader) {

    /**
     * @throws IllegalArgumentException if {@code clientHeader} is malformed, or set without {@link
     *     Trust#APPEND}
     */
    public ForwardingPolicy {
        if (!clientHeader.isEmpty()) {
            boolean valid =
                    HeaderSyntax.isToken(clientHeader) && clientHeader.equals(clientHeader.toLowerCase(Locale.ROOT));
            Check.that(valid, "clientHeader", clientHeader, "a header name in lower case");
            Check.that(trust == Trust.APPEND, "clientHeader", clientHeader, "none unless trust is APPEND");
        }
    }

    public enum Trust {
        REPLACE,
        APPEND
    }

    public enum Fields {
        NONE,
        /** {@code x-forwarded-for}, {@code -proto}, {@code -host}. */
        X_FORWARDED,
        /** RFC 7239. */
        FORWARDED,
        BOTH
    }

    public static ForwardingPolicy defaults() {
        return new ForwardingPolicy(Trust.REPLACE, Fields.X_FORWARDED, true, "");
    }
}
