package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.ErrorRenderer.ErrorContext;
import io.lambdadispatcher.core.spi.ErrorRenderer.ErrorPage;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.Ticker;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the dispatcher's own error responses with the program's renderer. Pages of the origins that
 * the functions allow can read them. Any thread.
 */
public final class ErrorAnswers {
    /** Token of the failure of requests that are rejected before they reach an exchange. */
    private static final String BAD_REQUEST = "bad_request";

    private static final Logger log = LoggerFactory.getLogger(ErrorAnswers.class);

    private static final AsciiString RATELIMIT_POLICY = AsciiString.cached("ratelimit-policy");
    private static final AsciiString RATELIMIT = AsciiString.cached("ratelimit");

    private final @Nullable ErrorRenderer renderer;
    private final @Nullable AsciiString idHeader;
    private final @Nullable AsciiString failureHeader;
    private final CorsMemory cors;
    private final SeldomLog failures = new SeldomLog(log, Ticker.systemTicker());
    private final SeldomLog details = new SeldomLog(log, Ticker.systemTicker());

    /**
     * @param renderer {@code null} for a line of text
     * @param failureHeader header that names the failure; {@code null} = none
     * @param cors outlives changes of the other options
     */
    public ErrorAnswers(
            @Nullable ErrorRenderer renderer,
            ForwardingPolicy forwarding,
            @Nullable String failureHeader,
            CorsMemory cors) {
        this.renderer = renderer;
        this.cors = cors;
        this.failureHeader = failureHeader == null ? null : AsciiString.of(failureHeader);
        this.idHeader = forwarding.requestIdHeader().isEmpty() ? null : AsciiString.of(forwarding.requestIdHeader());
    }

    private record Context(
            int status,
            String failure,
            String detail,
            @Nullable Http2Headers request,
            @Nullable String requestId) implements ErrorContext {}

    /** Names a request in the log. It is decoded only for the few lines that are logged. */
    private record LoggedId(@Nullable CharSequence id) {
        @Override
        public String toString() {
            return id == null ? "without an id" : PrintableText.startOf(HeaderText.decode(id));
        }
    }

    /**
     * Answers with the fixed sentence of the failure. Its detail is for the operator.
     *
     * @param request {@code null} if the request headers could not be read
     * @param function the function that the request was for; {@code null} = none
     */
    public TextAnswer answer(
            ByteBufAllocator allocator, Failure failure, @Nullable Http2Headers request, @Nullable String function) {
        Failure.Kind kind = failure.kind();
        log(failure, request);
        TextAnswer answer = answer(allocator, kind.status(), kind.token(), kind.message(), request, function);
        int seconds = failure.retryAfterSeconds();
        if (seconds > 0) {
            answer.head().set(HttpHeaderNames.RETRY_AFTER, Integer.toString(seconds));
        }
        Failure.Quota quota = failure.quota();
        if (quota != null) {
            answer.head().set(RATELIMIT_POLICY, quota.policyField()).set(RATELIMIT, quota.usedUpField(seconds));
        }
        return answer;
    }

    /** Logs what the client is not told. The access log has it for every request. */
    public void log(Failure failure, @Nullable Http2Headers request) {
        if (failure.kind().status().code() >= HttpResponseStatus.INTERNAL_SERVER_ERROR.code()) {
            details.warn(
                    "request {} failed with {}: {}",
                    new LoggedId(id(request)),
                    failure.kind().token(),
                    failure.detail());
        }
    }

    private @Nullable CharSequence id(@Nullable Http2Headers request) {
        return idHeader == null || request == null ? null : request.get(idHeader);
    }

    /**
     * Answers a request that breaks a rule, so that no function gets it.
     *
     * @param detail the rule, and at most parts of the request; no text of an exception
     */
    public TextAnswer reject(
            ByteBufAllocator allocator, HttpResponseStatus status, String detail, @Nullable Http2Headers request) {
        return answer(allocator, status, BAD_REQUEST, detail, request, null);
    }

    private TextAnswer answer(
            ByteBufAllocator allocator,
            HttpResponseStatus status,
            String failure,
            String detail,
            @Nullable Http2Headers request,
            @Nullable String function) {
        CharSequence id = id(request);
        TextAnswer answer = renderer == null
                ? TextAnswer.of(allocator, status, detail)
                : rendered(renderer, allocator, status, failure, detail, request, id);
        if (idHeader != null && id != null && HeaderSyntax.isValue(id)) {
            answer.head().set(idHeader, id);
        }
        if (failureHeader != null) {
            answer.head().set(failureHeader, failure);
        }
        allow(answer.head(), request, function);
        return answer;
    }

    /** Lets pages read an answer if the function's own responses do. See {@link CorsMemory}. */
    public void allow(Http2Headers answer, @Nullable Http2Headers request, @Nullable String function) {
        cors.allow(answer, request, function);
    }

    /** Notes which origins may read the responses of a function. */
    public void onResponse(@Nullable String function, @Nullable Http2Headers request, Http2Headers response) {
        if (function != null) {
            cors.onResponse(function, request, response);
        }
    }

    private TextAnswer rendered(
            ErrorRenderer by,
            ByteBufAllocator allocator,
            HttpResponseStatus status,
            String failure,
            String detail,
            @Nullable Http2Headers request,
            @Nullable CharSequence id) {
        try {
            ErrorPage page =
                    by.render(new Context(status.code(), failure, detail, request, id == null ? null : id.toString()));
            return TextAnswer.of(allocator, status, page.contentType(), page.body());
        } catch (Throwable e) {
            failures.warn("the error renderer {} failed on {}", by.getClass().getName(), failure, e);
            return TextAnswer.of(allocator, status, detail);
        }
    }
}
