package com.example.edge;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import java.util.concurrent.CompletionStage;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A controller on the application's own web server, which dispatches requests itself. */
@RestController
public class Baskets {
    private final Dispatcher dispatcher;

    Baskets(Dispatcher dispatcher) {
        this.dispatcher = dispatcher;
    }

    @GetMapping("/basket-of-the-day")
    CompletionStage<String> ofTheDay() {
        DispatchRequest request = DispatchRequest.post("/prices/baskets")
                .header("content-type", "application/json")
                .body("{\"apple\":2,\"cherry\":10}")
                .build();
        return dispatcher.dispatch(request).thenCompose(DispatchResponse::bodyAsString);
    }
}
