package io.lambdadispatcher.it.functions;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.events.ApplicationLoadBalancerRequestEvent;
import com.amazonaws.services.lambda.runtime.events.ApplicationLoadBalancerResponseEvent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Echoes events of a load balancer, with one value or with several values for each header. */
public class LoadBalancerFunction
        implements RequestHandler<ApplicationLoadBalancerRequestEvent, ApplicationLoadBalancerResponseEvent> {
    @Override
    public ApplicationLoadBalancerResponseEvent handleRequest(
            ApplicationLoadBalancerRequestEvent event, Context context) {
        Map<String, List<String>> lists = event.getMultiValueHeaders();
        ApplicationLoadBalancerResponseEvent response = new ApplicationLoadBalancerResponseEvent();
        if (lists == null) {
            Map<String, String> headers = event.getHeaders();
            response.setStatusCode(Integer.parseInt(headers.getOrDefault("x-status", "200")));
            response.setHeaders(Map.of(
                    "content-type", headers.getOrDefault("content-type", "text/plain"),
                    "x-list", headers.getOrDefault("x-list", "")));
        } else {
            response.setStatusCode(Integer.parseInt(
                    lists.getOrDefault("x-status", List.of("200")).get(0)));
            Map<String, List<String>> kept = new HashMap<>();
            kept.put("content-type", lists.getOrDefault("content-type", List.of("text/plain")));
            kept.put("x-list", lists.getOrDefault("x-list", List.of("")));
            if (lists.containsKey("cookie")) {
                kept.put("set-cookie", List.of(lists.get("cookie").get(0).split("; ")));
            }
            response.setMultiValueHeaders(kept);
        }
        response.setBody(event.getBody());
        response.setIsBase64Encoded(event.getIsBase64Encoded());
        return response;
    }
}
