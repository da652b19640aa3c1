package com.example.degraded;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.core.spi.RouteTarget;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DegradedTest {
    private static final TrafficPolicy ONE_REQUEST = TrafficPolicy.builder()
            .admission(AdmissionPolicy.builder("test")
                    .rateLimit(RateLimit.of(1, Duration.ofHours(1)))
                    .build())
            .build();

    /** The function shop is down, and the function simple is not. */
    private static Dispatcher dispatcher(Degraded filter) {
        return Dispatcher.builder()
                .function(FunctionOptions.of("shop"))
                .function(FunctionOptions.of("simple"))
                .router(head -> new RouteTarget("shop", ONE_REQUEST))
                .direct("shop", DirectOptions.of(DirectEventFormat.ALB))
                .direct("simple", DirectOptions.of(DirectEventFormat.ALB))
                .invoker((function, event) -> CompletableFuture.completedFuture(answer(function)))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoops(1)
                .filter("shop", filter)
                .start();
    }

    private static InvokeResult answer(String function) {
        String event =
                "{\"statusCode\":" + (function.equals("shop") ? 503 : 200) + ",\"body\":\"of " + function + "\"}";
        return new InvokeResult(200, null, event.getBytes(StandardCharsets.UTF_8));
    }

    private static String ask(Dispatcher dispatcher, DispatchRequest.Builder request) throws Exception {
        DispatchResponse response = dispatcher
                .dispatch(request.client("c").build())
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
        return response.status() + " "
                + response.bodyAsString().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void should_answer_refusals_from_another_function() throws Exception {
        try (Dispatcher dispatcher = dispatcher(new Degraded("simple"))) {
            assertEquals("503 of shop", ask(dispatcher, DispatchRequest.get("/")), "the application's own response");
            assertEquals("200 of simple", ask(dispatcher, DispatchRequest.get("/")));
            assertThrows(ExecutionException.class, () -> ask(dispatcher, DispatchRequest.post("/")));
        }
    }

    @Test
    void should_answer_refusals_with_a_text() throws Exception {
        try (Dispatcher dispatcher = dispatcher(new Degraded(null))) {
            assertEquals("503 of shop", ask(dispatcher, DispatchRequest.get("/")));
            assertEquals(
                    "200 We are busy. Here is less than you asked for.\n", ask(dispatcher, DispatchRequest.get("/")));
        }
    }
}
