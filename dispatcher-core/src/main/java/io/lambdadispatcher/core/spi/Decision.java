package io.lambdadispatcher.core.spi;

import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a {@link Filter} does with a request. Immutable, and not bound to a request. */
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
    static Decision answer(int status, String text) {
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
    static Decision answer(int status, Map<String, String> headers, byte[] body) {
        return new Answer(status, headers, body);
    }

    /**
     * Decides later. If the stage fails, or takes longer than the request may take or 10 s, the
     * request fails. If nobody waits for the decision any more, its future is cancelled.
     *
     * @param decision of this request alone; completes on any thread
     */
    static Decision later(CompletionStage<Decision> decision) {
        return new Later(Objects.requireNonNull(decision, "decision"));
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

    record Answer(int status, Map<String, String> headers, byte[] body) implements Decision {
        public Answer {
            if (status < 200 || status > 599) {
                throw new IllegalArgumentException("status " + status + ", expected 200 to 599");
            }
            headers.forEach((name, value) -> {
                OutgoingHeaders.verifyName(name);
                OutgoingHeaders.verifyValue(name, value);
            });
            headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
            Objects.requireNonNull(body, "body");
        }
    }

    record Later(CompletionStage<Decision> decision) implements Decision {}

    record Resume(Function<RequestContext, Decision> then) implements Decision {}

    record WithBody(int maxBytes, Function<@Nullable ByteBuf, Decision> then) implements Decision {}
}
