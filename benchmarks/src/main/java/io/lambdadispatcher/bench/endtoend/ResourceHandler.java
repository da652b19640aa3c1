package io.lambdadispatcher.bench.endtoend;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;

/**
 * Serves {@code /ping}, the image and {@code /echo} in a worker. {@link BackendMain} serves the
 * same resources behind a proxy. A request for {@code /hold} never gets a response.
 */
public final class ResourceHandler implements Handler {
    @Override
    public void handle(Request request, Response response) {
        String path = request.path();
        if (AsciiString.contentEquals(path, "/hold")) {
            return;
        }
        if (Resource.isEcho(path)) {
            echo(request, response);
        } else {
            answer(response, Resource.at(path));
        }
    }

    private static void echo(Request request, Response response) {
        CharSequence type = request.headers().get(HttpHeaderNames.CONTENT_TYPE);
        CharSequence length = request.headers().get(HttpHeaderNames.CONTENT_LENGTH);
        Http2Headers head = new DefaultHttp2Headers(false)
                .status("200")
                .set(HttpHeaderNames.CONTENT_TYPE, type == null ? HttpHeaderValues.APPLICATION_OCTET_STREAM : type);
        if (length != null) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, length);
        }
        response.head(head);
        Pipe.connect(request.body(), response);
    }

    /** Answers any request with the image. */
    public static void image(Response response) {
        answer(response, Resource.IMAGE);
    }

    /** Answers any request with {@code pong}. */
    public static void ping(Response response) {
        answer(response, Resource.PING);
    }

    private static void answer(Response response, Resource resource) {
        response.respond(resource.head, resource.body());
    }
}
