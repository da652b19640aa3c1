package com.example.burst;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** Waits for 200 ms, as for a database, then says which kind of worker has answered. */
public final class SlowHandler implements Handler {
    /** Set for base workers, see {@link Burst}. */
    static final String KIND_VARIABLE = "BURST_KIND";

    private static final Executor LATER = CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS);

    private final String answer = System.getenv().getOrDefault(KIND_VARIABLE, "launched") + "\n";

    @Override
    public void handle(Request request, Response response) {
        LATER.execute(() -> response.respond(200, answer));
    }
}
