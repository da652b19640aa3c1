package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs in the workers of {@link TrafficIT} and {@link ShadowIT}, as {@code IT_TRAFFIC} says:
 * {@code healthy} responds after 5 ms, {@code hanging} does so except for one request in 326, to
 * which it never responds, {@code slow} takes 50 times as long, {@code broken} responds with 500,
 * {@code overloaded} with 503, {@code failing} with 500 to each fifth request, and {@code silent}
 * never responds.
 */
public final class TrafficHandler implements Handler {
    private static final long MILLIS = 5;

    private final String kind = System.getenv().getOrDefault("IT_TRAFFIC", "healthy");
    private final AtomicInteger requests = new AtomicInteger();

    public TrafficHandler() {}

    @Override
    public void handle(Request request, Response response) {
        if (request.path().equals("/deadline")) {
            response.respond(
                    200,
                    request.remaining().orElseThrow().toMillis() + " " + request.header("x-timeout-ms") + " "
                            + request.header("grpc-timeout"));
            return;
        }
        switch (kind) {
            case "broken" -> response.respond(500, "broken");
            case "overloaded" -> response.respond(503, "overloaded");
            case "silent" -> {}
            case "failing" -> {
                // At random, a new version with few requests could seem good.
                if (requests.incrementAndGet() % 5 == 0) {
                    response.respond(500, "failed");
                } else {
                    respondAfter(MILLIS, request, response);
                }
            }
            case "slow" -> respondAfter(50 * MILLIS, request, response);
            case "hanging" -> {
                if (ThreadLocalRandom.current().nextInt(326) != 0) {
                    respondAfter(MILLIS, request, response);
                }
            }
            default -> respondAfter(MILLIS, request, response);
        }
    }

    private static void respondAfter(long millis, Request request, Response response) {
        var timer = request.eventLoop().schedule(() -> response.respond(200, "fine"), millis, TimeUnit.MILLISECONDS);
        request.onCancel(reason -> timer.cancel(false));
    }
}
