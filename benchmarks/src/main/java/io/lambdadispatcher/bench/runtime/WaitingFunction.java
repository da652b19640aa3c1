package io.lambdadispatcher.bench.runtime;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import java.util.Map;

/**
 * Answers {@code ok} after a wait: 100 ms for {@code /wait/100}. The wait stands for the work of
 * another system.
 */
public final class WaitingFunction implements RequestHandler<Map<String, Object>, Map<String, Object>> {
    private static final String PATH = "/wait/";

    @Override
    public Map<String, Object> handleRequest(Map<String, Object> event, Context context) {
        String path = String.valueOf(event.get("rawPath"));
        try {
            Thread.sleep(Integer.parseInt(path.substring(PATH.length())));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return Map.of("statusCode", 200, "headers", Map.of("content-type", "text/plain"), "body", "ok");
    }
}
