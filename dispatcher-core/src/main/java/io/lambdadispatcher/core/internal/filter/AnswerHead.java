package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What clients get of the decisions of filters to answer or to refuse. */
final class AnswerHead {
    private AnswerHead() {}

    /**
     * Returns the headers of an answer, which belong to the receiver. No answer opens a WebSocket,
     * whatever its status.
     */
    static Http2Headers of(Decision.Answer answer, CharSequence method) {
        Http2Headers head =
                answer.fields() instanceof NettyFields fields ? fields.write().get() : new FlatHeaders();
        head.status(AsciiString.of(Integer.toString(answer.status())));
        if (answer.fields() != null && !(answer.fields() instanceof NettyFields)) {
            answer.fields().forEach((name, value) -> add(head, name, value));
        }
        answer.headers().forEach((name, value) -> add(head, name, value));
        if (!StatusCode.isBodyless(answer.status())) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(answer.body().length)));
        }
        if (Methods.isConnect(method) && TunnelHead.opens(head)) {
            head.set(TunnelHead.NOT_SWITCHED, "1");
        }
        return head;
    }

    private static void add(Http2Headers head, String name, String value) {
        head.add(AsciiString.of(name.toLowerCase(Locale.ROOT)), value);
    }

    /** @return {@code null} if the table of failures has no such token */
    static @Nullable Failure failureOf(Decision.Refuse refusal) {
        for (Failure.Kind kind : Failure.Kind.values()) {
            if (kind.token().equals(refusal.failure())) {
                return new Failure(kind, kind.message());
            }
        }
        return null;
    }
}
