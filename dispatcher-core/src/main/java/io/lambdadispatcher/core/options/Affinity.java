package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.Locale;

/**
 * Which requests of a function belong together and should reach the same worker. Immutable.
 *
 * <p>Affinity is a preference. If the worker of a session is gone, the request goes to another
 * worker. {@code docs/guides/sessions.md} says which kind suits which application.
 *
 * @param kind what identifies the session of a request
 * @param name name of the header in lower case, or name of the cookie; empty for {@link Kind#NONE}
 */
public record Affinity(Kind kind, String name) {

    /** Every request goes to the least busy worker. */
    public static final Affinity NONE = new Affinity(Kind.NONE, "");

    private static final int MAX_NAME_CHARS = 256;

    /** What identifies the session of a request. */
    public enum Kind {
        /** There are no sessions. */
        NONE,
        /** A header that the client sends. */
        HEADER,
        /** A cookie that the client sends. */
        COOKIE,
        /** A cookie that the dispatcher sets. It names the worker. */
        OWN_COOKIE,
        /**
         * A header with a session id that the worker creates in a response. The dispatcher appends
         * the worker to the id.
         */
        SESSION_HEADER
    }

    /**
     * Validates the name.
     *
     * @throws IllegalArgumentException if the name is not a valid name of a header or cookie
     */
    public Affinity {
        if (kind != Kind.NONE) {
            Check.that(
                    HeaderSyntax.isToken(name) && name.length() <= MAX_NAME_CHARS,
                    "affinity",
                    "\"" + name + "\"",
                    "the name of a header or a cookie, 1 to " + MAX_NAME_CHARS + " characters");
        }
    }

    /**
     * Requests with the same value of a header reach the same worker while it has room. A worker
     * has room while its requests in flight are at most 1.25 times the mean, or fewer than 4.
     *
     * @param name name of the header, such as {@code x-tenant}
     * @throws IllegalArgumentException if the name is not a valid name of a header
     */
    public static Affinity header(String name) {
        return new Affinity(Kind.HEADER, name.toLowerCase(Locale.ROOT));
    }

    /**
     * Requests with the same value of a cookie reach the same worker while it has room, as with
     * {@link #header}.
     *
     * @param name name of the cookie
     * @throws IllegalArgumentException if the name is not a valid name of a cookie
     */
    public static Affinity cookie(String name) {
        return new Affinity(Kind.COOKIE, name);
    }

    /**
     * The dispatcher sets a session cookie that names the worker. Later requests with the cookie
     * reach this worker while it lives. If it has no free worker stream, they wait for one up to
     * the timeout of the queue, and then take another worker.
     *
     * @param name name of the cookie, which no other function of the same host may use
     * @throws IllegalArgumentException if the name is not a valid name of a cookie
     */
    public static Affinity ownCookie(String name) {
        return new Affinity(Kind.OWN_COOKIE, name);
    }

    /**
     * The worker creates a session and sends its id in a header of a response, and the client sends
     * it back in the same header. Requests of the session reach the worker that created it, as with
     * {@link #ownCookie}. The client sees an id that ends with {@code ~w} and 13 more characters.
     * The worker sees its own id.
     *
     * @param name name of the header, such as {@code mcp-session-id}
     * @throws IllegalArgumentException if the name is not a valid name of a header
     */
    public static Affinity sessionHeader(String name) {
        return new Affinity(Kind.SESSION_HEADER, name.toLowerCase(Locale.ROOT));
    }
}
