package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.events.APIGatewayProxyRequestEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayProxyResponseEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPEvent;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPResponse;
import com.amazonaws.services.lambda.runtime.events.ApplicationLoadBalancerRequestEvent;
import com.amazonaws.services.lambda.runtime.events.ApplicationLoadBalancerResponseEvent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Functions as users write them for Lambda, one for each class of event. They return the unmodified
 * body, {@code content-type}, {@code x-list}, the cookies, and the status that {@code x-status}
 * asks for.
 */
final class EchoFunctions {
    private EchoFunctions() {}

    private static int status(Map<String, String> headers) {
        return Integer.parseInt(headers.getOrDefault("x-status", "200"));
    }

    private static Map<String, String> kept(Map<String, String> headers) {
        Map<String, String> kept = new HashMap<>(headers);
        kept.keySet().retainAll(List.of("content-type", "x-list"));
        return kept;
    }

    /** @param cookie the header's name as the format spells it */
    private static Map<String, List<String>> keptLists(Map<String, List<String>> headers, String cookie) {
        Map<String, List<String>> kept = new HashMap<>(headers);
        kept.keySet().retainAll(List.of("content-type", "Content-Type", "x-list"));
        if (headers.containsKey(cookie)) {
            kept.put("Set-Cookie", List.of(headers.get(cookie).get(0).split("; ")));
        }
        return kept;
    }

    /** Serves events of HTTP APIs and function URLs. */
    public static class OfHttpApi implements RequestHandler<APIGatewayV2HTTPEvent, APIGatewayV2HTTPResponse> {
        @Override
        public APIGatewayV2HTTPResponse handleRequest(APIGatewayV2HTTPEvent event, Context context) {
            return APIGatewayV2HTTPResponse.builder()
                    .withStatusCode(status(event.getHeaders()))
                    .withHeaders(kept(event.getHeaders()))
                    .withCookies(event.getCookies())
                    .withBody(event.getBody())
                    .withIsBase64Encoded(event.getIsBase64Encoded())
                    .build();
        }
    }

    public static class OfRestApi implements RequestHandler<APIGatewayProxyRequestEvent, APIGatewayProxyResponseEvent> {
        @Override
        public APIGatewayProxyResponseEvent handleRequest(APIGatewayProxyRequestEvent event, Context context) {
            return new APIGatewayProxyResponseEvent()
                    .withStatusCode(status(event.getHeaders()))
                    .withHeaders(kept(event.getHeaders()))
                    .withMultiValueHeaders(keptLists(event.getMultiValueHeaders(), "Cookie"))
                    .withBody(event.getBody())
                    .withIsBase64Encoded(event.getIsBase64Encoded());
        }
    }

    /** Serves events of load balancers, with one value for each header or with all of them. */
    public static class OfLoadBalancer
            implements RequestHandler<ApplicationLoadBalancerRequestEvent, ApplicationLoadBalancerResponseEvent> {
        @Override
        public ApplicationLoadBalancerResponseEvent handleRequest(
                ApplicationLoadBalancerRequestEvent event, Context context) {
            ApplicationLoadBalancerResponseEvent response = new ApplicationLoadBalancerResponseEvent();
            Map<String, List<String>> lists = event.getMultiValueHeaders();
            if (lists == null) {
                response.setHeaders(kept(event.getHeaders()));
                response.setStatusCode(status(event.getHeaders()));
            } else {
                response.setMultiValueHeaders(keptLists(lists, "cookie"));
                response.setStatusCode(Integer.parseInt(
                        lists.getOrDefault("x-status", List.of("200")).get(0)));
            }
            response.setBody(event.getBody());
            response.setIsBase64Encoded(event.getIsBase64Encoded());
            return response;
        }
    }
}
