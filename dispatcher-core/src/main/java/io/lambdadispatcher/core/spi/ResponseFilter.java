package io.lambdadispatcher.core.spi;

import org.jspecify.annotations.Nullable;

/**
 * Follows or changes the response to one request that a {@link Filter} has passed on: {@link
 * #onHead} at most once, then the body as {@link BodyFilter} says, then {@link #onEnd} once. If one
 * of them throws before the end, the response fails.
 *
 * <p><b>Threading.</b> Called on the client's event loop, so it must not block.
 */
public interface ResponseFilter extends BodyFilter {
    /**
     * The final response headers have arrived. Interim responses pass by.
     *
     * @param headers may be changed until this returns, and not be used later. Whoever changes the
     *     length of the body removes {@code content-length}
     */
    default void onHead(int status, HeaderFields headers) {}

    /**
     * The final response headers have arrived, as above. Default: calls {@link #onHead(int,
     * HeaderFields)}.
     *
     * @param hasBody whether a body or trailers follow. If not, the response ends with its headers
     */
    default void onHead(int status, HeaderFields headers, boolean hasBody) {
        onHead(status, headers);
    }

    /**
     * The response is about to begin with this status, or there is none. Called at most once,
     * before the client and {@link #onHead} know anything of it.
     *
     * @param status of the response, or of the error that the client would get
     * @param failure {@code null} = the function has answered; otherwise the token of the failure
     * @return what the client gets instead, from a method {@code Decision.answer}. It does not pass
     *     {@link #onHead} of this filter. What the function sends is dropped, and its request is
     *     cancelled unless a {@code content-length} of at most 256 KiB says how little is left.
     *     {@code null} = this. Then {@link #onRefused} is asked, too, if it is a refusal
     */
    default Decision.@Nullable Answer replace(int status, @Nullable String failure) {
        return null;
    }

    /**
     * Returns whether the filter wants the rest of the response although the client has left. Asked
     * when a client leaves that has sent its request completely, and from then on at each part of
     * the response. The rest goes to this filter and those behind it, and nobody slows it down. The
     * first {@code false} cancels the request. Default: false.
     */
    default boolean outlivesClient() {
        return false;
    }

    /**
     * The dispatcher refuses the request, and no handler has begun. Called at most once, and never
     * for a response of the application or a failure of its handler.
     *
     * @param failure the token of the failure, for example {@code queue_full}
     * @return what the client gets instead; {@link Decision#pass()} = the refusal. Also if {@link
     *     Decision#later} fails, although the report, which does not wait for it, says then that a
     *     filter has answered
     */
    default Decision onRefused(String failure) {
        return Decision.pass();
    }

    /**
     * The response has ended.
     *
     * @param failure the token of the failure, {@code cancelled} if the client has gone; {@code
     *     null} if the response is complete, or is the answer of {@link #onRefused}
     */
    default void onEnd(@Nullable String failure) {}
}
