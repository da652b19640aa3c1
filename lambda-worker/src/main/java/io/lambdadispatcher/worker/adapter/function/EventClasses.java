package io.lambdadispatcher.worker.adapter.function;

import io.lambdadispatcher.wire.event.EventFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which shape of event a class of {@code aws-lambda-java-events} is for. By name: the library need
 * not be there.
 */
final class EventClasses {
    private static final String PACKAGE = "com.amazonaws.services.lambda.runtime.events.";
    private static final Map<String, EventFormat> FORMATS = Map.of(
            PACKAGE + "APIGatewayV2HTTPEvent", EventFormat.HTTP_API_V2,
            PACKAGE + "APIGatewayProxyRequestEvent", EventFormat.REST_API,
            PACKAGE + "ApplicationLoadBalancerRequestEvent", EventFormat.ALB);

    private EventClasses() {}

    /**
     * Of the class or one that it extends; HTTP API's for all others, a map and {@code null} among
     * them.
     */
    static EventFormat formatOf(@Nullable Class<?> event) {
        for (Class<?> type = event; type != null; type = type.getSuperclass()) {
            EventFormat format = FORMATS.get(type.getName());
            if (format != null) {
                return format;
            }
        }
        return EventFormat.HTTP_API_V2;
    }
}
