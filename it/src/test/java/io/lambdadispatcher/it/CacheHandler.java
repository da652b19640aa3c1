package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** Runs in the workers of {@link CacheIT}. Each response has another number. */
public final class CacheHandler implements Handler {
    private final AtomicInteger numbers = new AtomicInteger();

    public CacheHandler() {}

    @Override
    public void handle(Request request, Response response) {
        String control = request.path().startsWith("/private") ? "private" : "public, max-age=1, stale-if-error=600";
        Http2Headers head = new DefaultHttp2Headers().status("200").add("cache-control", control);
        String body = "number " + numbers.incrementAndGet();
        response.respond(head, Unpooled.copiedBuffer(body, StandardCharsets.UTF_8));
    }
}
