package io.lambdadispatcher.core.options;

/**
 * What the handler is told about the client's own connection.
 *
 * @param trust whether {@code forwarded} and {@code x-forwarded-*} fields that came with the request are kept and added to (a trusted proxy is in
 *     front) or removed (they can be made up)
 * @param fields which fields are set
 * @param via add {@code via} to requests and responses (RFC 9110 section 7.6.3)
 */
public record ForwardingPolicy(Trust trust, Fields fields, boolean via) {
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
        return new ForwardingPolicy(Trust.REPLACE, Fields.X_FORWARDED, true);
    }
}
