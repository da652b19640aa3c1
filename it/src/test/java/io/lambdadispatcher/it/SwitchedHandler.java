package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Runs in the workers of {@link BreakerIT}. It needs a dependency that is dead while the file
 * {@code IT_SWITCH} exists: then it never responds. Afterwards, its caches are cold: the first 100
 * requests take 100 ms, later ones 5 ms. Responses of {@code /stored} can be stored, and are fresh
 * for 1 s.
 */
public final class SwitchedHandler implements Handler {
    private static final int COLD_REQUESTS = 100;

    private final Path dead = Path.of(System.getenv().getOrDefault("IT_SWITCH", "/nonexistent"));

    // Written by several event loops. A lost update only makes it cold for longer.
    private volatile int served = COLD_REQUESTS;

    public SwitchedHandler() {}

    @Override
    public void handle(Request request, Response response) {
        if (Files.exists(dead)) {
            served = 0;
            return;
        }
        long millis = served < COLD_REQUESTS ? 100 : 5;
        served = Math.min(COLD_REQUESTS, served + 1);
        Http2Headers head = new DefaultHttp2Headers().status("200");
        if (request.path().equals("/stored")) {
            head.add("cache-control", "max-age=1, stale-if-error=60");
        }
        var timer = request.eventLoop()
                .schedule(
                        () -> response.respond(head, Unpooled.copiedBuffer("fine", StandardCharsets.UTF_8)),
                        millis,
                        TimeUnit.MILLISECONDS);
        request.onCancel(reason -> timer.cancel(false));
    }
}
