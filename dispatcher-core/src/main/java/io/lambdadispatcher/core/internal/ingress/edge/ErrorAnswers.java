package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.Incident;
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
    private final Incidents incidents;

    /**
     * @param renderer {@code null} for a line of text
     * @param failureHeader header that names the failure; {@code null} = none
     * @param cors outlives changes of the other options
     * @param incidents are told of failures that are not the client's fault
     */
    public ErrorAnswers(
            @Nullable ErrorRenderer renderer,
            ForwardingPolicy forwarding,
            @Nullable String failureHeader,
            CorsMemory cors,
            Incidents incidents) {
        this.renderer = renderer;
        this.cors = cors;
        this.incidents = incidents;
        this.failureHeader = failureHeader == null ? null : AsciiString.of(failureHeader);
        this.idHeader = forwarding.requestIdHeader().isEmpty() ? null : AsciiString.of(forwarding.requestIdHeader());
    }

    private record Context(
            int status,
            String failure,
            String detail,
            @Nullable Http2Headers request,
            @Nullable String requestId) implements ErrorContext {
        @Override
        public @Nullable String path() {
            CharSequence path = request == null ? null : request.path();
            return path == null ? null : path.toString();
        }

        @Override
        public @Nullable String header(CharSequence name) {
            CharSequence value = request == null ? null : request.get(name);
            return value == null ? null : HeaderText.decode(value);
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
        count(failure, request, function);
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

    /**
     * Counts a failure that is not the client's fault. The access log has what the client is not
     * told of every request.
     */
    public void count(Failure failure, @Nullable Http2Headers request, @Nullable String function) {
        Incident.Kind kind = failure.kind().incident();
        if (kind != null) {
            incidents.count(
                    kind,
                    function == null ? "" : function,
                    failure.kind().token(),
                    () -> "request " + loggedId(request) + ": " + failure.detail());
        }
    }

    private String loggedId(@Nullable Http2Headers request) {
        CharSequence id = id(request);
        return id == null ? "without an id" : PrintableText.startOf(HeaderText.decode(id));
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
