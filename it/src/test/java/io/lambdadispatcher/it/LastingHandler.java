package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.nio.charset.StandardCharsets;

/** Its responses may be stored for an hour. */
public final class LastingHandler implements Handler {
    public LastingHandler() {}

    @Override
    public void handle(Request request, Response response) {
        response.respond(
                new DefaultHttp2Headers().status("200").add("cache-control", "public, max-age=3600"),
                Unpooled.copiedBuffer("lasting", StandardCharsets.UTF_8));
    }
}
