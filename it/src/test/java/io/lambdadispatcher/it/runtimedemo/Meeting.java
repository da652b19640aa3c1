package io.lambdadispatcher.it.runtimedemo;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;

/**
 * Answers {@code /meet} only when {@value #PARTIES} requests are in flight, and echoes every other
 * request.
 */
public final class Meeting implements RequestHandler<Map<String, Object>, Map<String, Object>> {
    static final int PARTIES = 32;

    private final CyclicBarrier barrier = new CyclicBarrier(PARTIES);

    @Override
    public Map<String, Object> handleRequest(Map<String, Object> event, Context context) {
        String path = String.valueOf(event.get("rawPath"));
        if (path.equals("/fail")) {
            throw new IllegalStateException("no secret");
        }
        Map<String, Object> response = new LinkedHashMap<>();
        response.put("statusCode", 200);
        if (path.equals("/meet")) {
            meet();
            response.put(
                    "body",
                    context.getAwsRequestId() + " " + ProcessHandle.current().pid());
        } else {
            response.put("body", Objects.requireNonNullElse(event.get("body"), ""));
            response.put("isBase64Encoded", event.get("isBase64Encoded"));
        }
        return response;
    }

    private void meet() {
        try {
            barrier.await(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException("fewer than " + PARTIES + " requests were here at once", e);
        }
    }
}
