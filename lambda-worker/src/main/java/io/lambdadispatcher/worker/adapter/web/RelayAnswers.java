package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;

/** What the relay itself answers. */
final class RelayAnswers {
    private static final AsciiString TEXT = AsciiString.cached("text/plain; charset=utf-8");
    private static final AsciiString NO_STORE = AsciiString.cached("no-store");

    private RelayAnswers() {}

    static void text(Response response, HttpResponseStatus status, String detail, boolean toHead) {
        ByteBuf body = ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, detail + '\n');
        FlatHeaders head = new FlatHeaders();
        head.status(status.codeAsText())
                .add(HttpHeaderNames.CONTENT_TYPE, TEXT)
                .add(HttpHeaderNames.CACHE_CONTROL, NO_STORE)
                .add(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.readableBytes()));
        if (toHead) {
            body.release();
            response.respond(head);
        } else {
            response.respond(head, body);
        }
    }
}
