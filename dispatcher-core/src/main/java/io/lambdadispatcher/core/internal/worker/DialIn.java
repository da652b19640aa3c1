package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.Http2Events;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Handles a connection to the worker port: requests for a control stream and for worker streams,
 * and nothing else. It is first an {@link Admission}, then a {@link WorkerConnection}. Event loop
 * only.
 */
abstract sealed class DialIn extends Http2Events permits Admission, WorkerConnection {
    final WorkerPort port;
    final WorkerPortHandler handler;

    DialIn(WorkerPort port, WorkerPortHandler handler) {
        this.port = port;
        this.handler = handler;
    }

    @Override
    public void onHeadersRead(ChannelHandlerContext c, int id, Http2Headers head, int padding, boolean end) {
        Http2Stream stream = handler.connection().stream(id);
        if (stream == null) {
            return;
        }
        boolean open = !end && HttpMethod.POST.asciiName().contentEquals(head.method());
        if (open && Endpoints.STREAM_PATH.contentEquals(head.path())) {
            onWorkerStream(stream);
        } else if (open && Endpoints.CONTROL_PATH.contentEquals(head.path())) {
            onControlStream(stream, head);
        } else {
            String request = PrintableText.startOf(head.method() + " " + head.path());
            refuse(
                    stream,
                    HttpResponseStatus.NOT_FOUND,
                    Rejection.STRANGER,
                    request + " is no request of a worker. Clients must use a public port");
        }
    }

    abstract void onControlStream(Http2Stream stream, Http2Headers head);

    abstract void onWorkerStream(Http2Stream stream);

    final void accept(Http2Stream stream) {
        Http2Headers head = new DefaultHttp2Headers(false)
                .status(HttpResponseStatus.OK.codeAsText())
                .set(HttpHeaderNames.CONTENT_TYPE, Endpoints.MEDIA_TYPE);
        handler.encoder()
                .writeHeaders(
                        handler.ctx(),
                        stream.id(),
                        head,
                        0,
                        false,
                        handler.ctx().newPromise());
        handler.flushSoon();
    }

    /**
     * Rejects the request.
     *
     * @param rejection {@code null} = nobody has to look at it
     */
    void refuse(Http2Stream stream, HttpResponseStatus status, @Nullable Rejection rejection, String reason) {
        if (rejection != null) {
            port.onRejected(remoteAddress(), rejection, reason);
        }
        Http2Headers head = new DefaultHttp2Headers(false).status(status.codeAsText());
        handler.encoder()
                .writeHeaders(
                        handler.ctx(), stream.id(), head, 0, true, handler.ctx().newPromise());
        handler.reset(stream, Http2Error.NO_ERROR);
    }

    public SocketAddress remoteAddress() {
        return handler.ctx().channel().remoteAddress();
    }

    final EventLoop loop() {
        return handler.ctx().channel().eventLoop();
    }
}
