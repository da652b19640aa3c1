package com.example.degraded;

import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** Answers GET requests that the dispatcher refuses: by another function, or with a text. */
public final class Degraded implements Filter {
    private static final Decision FIXED = Decision.answer(200, "We are busy. Here is less than you asked for.\n");
    private final String other;

    /** Takes the name of the function from the environment. */
    public Degraded() {
        this(System.getenv("DEGRADED_FUNCTION"));
    }

    public Degraded(String function) {
        other = function;
    }

    @Override
    public Decision onRequest(RequestContext request) {
        if (!request.method().equals("GET")) {
            return Decision.pass();
        }
        DispatchRequest again = DispatchRequest.get(request.path()).build();
        return Decision.pass(new ResponseFilter() {
            @Override
            public Decision onRefused(String failure) {
                return other == null
                        ? FIXED
                        : Decision.later(request.send(other, again).thenCompose(Degraded::read));
            }
        });
    }

    private static CompletionStage<Decision> read(DispatchResponse response) {
        return response.bodyAsBytes(1 << 20).thenApply(body -> Decision.answer(response.status(), Map.of(), body));
    }
}
