package io.lambdadispatcher.it.functions;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPResponse;
import io.lambdadispatcher.worker.handler.TraceContext;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.MDC;

/** Answers with the trace id of the logging context, before and after a wait, and of the event. */
public final class TraceFunction implements RequestHandler<APIGatewayV2HTTPEvent, APIGatewayV2HTTPResponse> {
    @Override
    public APIGatewayV2HTTPResponse handleRequest(APIGatewayV2HTTPEvent event, Context context) {
        String before = MDC.get(TraceContext.TRACE_ID);
        try {
            TimeUnit.MILLISECONDS.sleep(20); // Time that a trace shows.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        String after = MDC.get(TraceContext.TRACE_ID);
        String sent = event.getHeaders().get("traceparent");
        boolean same = before != null && before.equals(after) && sent.contains(before);
        return APIGatewayV2HTTPResponse.builder()
                .withStatusCode(200)
                .withHeaders(Map.of("content-type", "text/plain"))
                .withBody(same ? sent : "mixed: " + before + ", " + after + ", " + sent)
                .build();
    }
}
