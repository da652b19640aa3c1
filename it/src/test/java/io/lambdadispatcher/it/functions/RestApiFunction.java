package io.lambdadispatcher.it.functions;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.events.APIGatewayProxyRequestEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayProxyResponseEvent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Echoes events of a REST API. It implements no interface; the handler setting names its method.
 */
public class RestApiFunction {
    public APIGatewayProxyResponseEvent echo(APIGatewayProxyRequestEvent event, Context context) {
        Map<String, List<String>> headers = event.getMultiValueHeaders();
        Map<String, List<String>> kept = new HashMap<>();
        kept.put("content-type", headers.getOrDefault("Content-Type", List.of("text/plain")));
        kept.put("x-list", headers.getOrDefault("x-list", List.of("")));
        if (headers.containsKey("Cookie")) {
            kept.put("set-cookie", List.of(headers.get("Cookie").get(0).split("; ")));
        }
        return new APIGatewayProxyResponseEvent()
                .withStatusCode(Integer.parseInt(event.getHeaders().getOrDefault("x-status", "200")))
                .withMultiValueHeaders(kept)
                .withBody(event.getBody())
                .withIsBase64Encoded(event.getIsBase64Encoded());
    }
}
