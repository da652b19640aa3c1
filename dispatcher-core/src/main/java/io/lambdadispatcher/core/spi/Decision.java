package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Filter} does with a request. Immutable, and not bound to a request, unless a method
 * says that it is.
 *
 * <p>The method of a WebSocket is CONNECT. No answer opens one: instead of 2xx, clients of HTTP/2
 * get 502, because they would take it as the open WebSocket.
 */
public sealed interface Decision {
    /** Passes the request on, with the changes that the filter has made to its headers. */
    static Decision pass() {
        return Pass.UNFOLLOWED;
    }

    /** Passes the request on. {@code response} is told of its response, and belongs to it alone. */
    static Decision pass(ResponseFilter response) {
        return new Pass(null, Objects.requireNonNull(response, "response"));
    }

    /** Passes the request on. Both filters belong to it alone. */
    static Decision pass(BodyFilter request, ResponseFilter response) {
        return new Pass(Objects.requireNonNull(request, "request"), Objects.requireNonNull(response, "response"));
    }

    /**
     * Answers or refuses the request. Nothing after this filter sees it.
     *
     * @param status 200 to 599
     * @param text the body in UTF-8
     * @throws IllegalArgumentException if the status is another
     */
    static Answer answer(int status, String text) {
        return answer(
                status, Map.of("content-type", "text/plain; charset=utf-8"), text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Answers or refuses the request. Nothing after this filter sees it.
     *
     * @param status 200 to 599
     * @param headers {@code content-length} is added
     * @param body must not be changed afterwards. Not sent if the request or the status has none
     * @throws IllegalArgumentException if the status is another, or HTTP allows no such header
     */
    static Answer answer(int status, Map<String, String> headers, byte[] body) {
        return new Answer(status, headers, null, body, Substitute.FILTER);
    }

    /**
     * Answers or refuses one request, for example with what was kept of an earlier response. The
     * client reads {@code body} in place.
     *
     * @param status 200 to 599
     * @param headers from {@link HeaderFields#copy}. They belong to the dispatcher afterwards, so
     *     the decision is for one request. {@code content-length} is added
     * @param body must not be changed afterwards. Not sent if the request or the status has none
     * @param by what the access log and the metrics say that answered
     * @throws IllegalArgumentException if the status is another
     */
    static Answer answer(int status, HeaderFields headers, byte[] body, Substitute by) {
        return new Answer(status, Map.of(), Objects.requireNonNull(headers, "headers"), body, by);
    }

    /**
     * Refuses the request as the dispatcher itself does: with its error response, and counted under
     * the same name in the access log and the metrics.
     *
     * @param failure a token of the table of failures, for example {@code rate_limited}. With
     *     another one, the filter has failed
     */
    static Decision refuse(String failure) {
        return new Refuse(Objects.requireNonNull(failure, "failure"));
    }

    /**
     * Decides later. If the stage fails, or takes longer than the request may take or 10 s, the
     * request fails. If nobody waits for the decision any more, its future is cancelled.
     *
     * @param decision of this request alone; completes on any thread. If it is too late, nothing of
     *     its filters is called
     */
    static Decision later(CompletionStage<? extends Decision> decision) {
        return new Later(Objects.requireNonNull(decision, "decision"), null, null);
    }

    /**
     * Decides later, or as {@code otherwise} says if the stage takes longer than {@code atMost}.
     * The deadline of the request limits the wait as well, and {@code otherwise} can be the next
     * wait. If the stage fails, the request fails. If nobody waits for the decision any more, its
     * future is cancelled.
     *
     * @param decision of this request alone; completes on any thread
     * @param atMost more than zero
     * @throws IllegalArgumentException if {@code atMost} is not
     */
    static Decision later(CompletionStage<? extends Decision> decision, Duration atMost, Decision otherwise) {
        if (atMost.isZero() || atMost.isNegative()) {
            throw new IllegalArgumentException("atMost " + atMost + ", expected more than 0");
        }
        return new Later(
                Objects.requireNonNull(decision, "decision"),
                Objects.requireNonNull(atMost, "atMost"),
                Objects.requireNonNull(otherwise, "otherwise"));
    }

    /**
     * Decides on the client's event loop. A stage of {@link #later} completes with this to change
     * the headers of the request.
     */
    static Decision resume(Function<RequestContext, Decision> then) {
        return new Resume(Objects.requireNonNull(then, "then"));
    }

    /**
     * Decides when the body of the request is complete. The dispatcher holds it, and passes it on
     * afterwards if the request is. Meanwhile, the client may send all of it.
     *
     * @param maxBytes of the body, more than 0
     * @param then called on the client's event loop with the body, which is read-only and belongs
     *     to the dispatcher, so whoever needs it after the call retains it; {@code null} = the body
     *     is larger
     */
    static Decision withBody(int maxBytes, Function<@Nullable ByteBuf, Decision> then) {
        if (maxBytes <= 0) {
            throw new IllegalArgumentException("maxBytes " + maxBytes + ", expected more than 0");
        }
        return new WithBody(maxBytes, Objects.requireNonNull(then, "then"));
    }

    /**
     * @param request {@code null} = nobody follows the body of the request
     * @param response {@code null} = nobody follows the response
     */
    record Pass(@Nullable BodyFilter request, @Nullable ResponseFilter response) implements Decision {
        private static final Pass UNFOLLOWED = new Pass(null, null);
    }

    /**
     * @param fields {@code null} = {@code headers} are all
     * @param by what is said to have answered
     */
    record Answer(
            int status,
            Map<String, String> headers,
            @Nullable HeaderFields fields,
            byte[] body,
            Substitute by) implements Decision {
        public Answer {
            if (status < 200 || status > 599) {
                throw new IllegalArgumentException("status " + status + ", expected 200 to 599");
            }
            headers.forEach((name, value) -> {
                OutgoingHeaders.verifyName(name);
                OutgoingHeaders.verifyValue(name, value);
            });
            headers = headers.isEmpty() ? Map.of() : Collections.unmodifiableMap(new LinkedHashMap<>(headers));
            Objects.requireNonNull(body, "body");
            Objects.requireNonNull(by, "by");
        }
    }

    record Refuse(String failure) implements Decision {}

    /**
     * @param atMost {@code null} = the usual time, after which the request fails
     * @param otherwise {@code null} exactly if {@code atMost} is
     */
    record Later(
            CompletionStage<? extends Decision> decision,
            @Nullable Duration atMost,
            @Nullable Decision otherwise) implements Decision {}

    record Resume(Function<RequestContext, Decision> then) implements Decision {}

    record WithBody(int maxBytes, Function<@Nullable ByteBuf, Decision> then) implements Decision {}
}
