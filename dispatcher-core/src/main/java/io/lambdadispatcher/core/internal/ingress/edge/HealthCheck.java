package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.function.BooleanSupplier;

/**
 * Answers a load balancer's health checks on the public ports, in front of everything that counts
 * requests. A check that reached a function would keep its last worker alive forever. Any thread.
 *
 * @param path of the requests, without a query
 * @param userAgent beginning of their header {@code user-agent}, in any case; empty = any
 * @param ready whether the answer is 200; otherwise, it is 503
 */
public record HealthCheck(String path, String userAgent, BooleanSupplier ready) {
    private static final RequestSink NOWHERE = new DiscardingSink();

    /** Returns an opener that answers checks, and passes other requests on. */
    public ExchangeOpener before(ExchangeOpener next) {
        return new ExchangeOpener() {
            @Override
            public RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
                if (!isAsked(head)) {
                    return next.open(head, end, response);
                }
                answer(Methods.isHead(head.method()), response);
                return NOWHERE;
            }

            @Override
            public RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
                return next.refuse(head, response, failure);
            }
        };
    }

    private boolean isAsked(Http2Headers head) {
        CharSequence asked = head.path();
        int length = path.length();
        if (!AsciiString.regionMatches(asked, false, 0, path, 0, length)
                || asked.length() > length && asked.charAt(length) != '?'
                || !HttpMethod.GET.asciiName().contentEquals(head.method()) && !Methods.isHead(head.method())) {
            return false;
        }
        CharSequence agent = userAgent.isEmpty() ? "" : head.get(HttpHeaderNames.USER_AGENT);
        return agent != null && AsciiString.regionMatches(agent, true, 0, userAgent, 0, userAgent.length());
    }

    private void answer(boolean headRequest, ResponseSink response) {
        boolean is = ready.getAsBoolean();
        TextAnswer answer = TextAnswer.of(
                ByteBufAllocator.DEFAULT,
                is ? HttpResponseStatus.OK : HttpResponseStatus.SERVICE_UNAVAILABLE,
                is ? "ready" : "not ready");
        response.onHead(answer.head(), headRequest);
        if (headRequest) {
            answer.body().release();
        } else {
            response.onData(answer.body(), true);
        }
    }
}
