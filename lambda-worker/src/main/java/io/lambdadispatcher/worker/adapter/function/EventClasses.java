package io.lambdadispatcher.worker.adapter.function;

import io.lambdadispatcher.wire.event.EventFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Maps classes of {@code aws-lambda-java-events} to event formats. The classes are compared by
 * name, because the library is optional.
 */
final class EventClasses {
    private static final String PACKAGE = "com.amazonaws.services.lambda.runtime.events.";
    private static final Map<String, EventFormat> FORMATS = Map.of(
            PACKAGE + "APIGatewayV2HTTPEvent", EventFormat.HTTP_API_V2,
            PACKAGE + "APIGatewayProxyRequestEvent", EventFormat.REST_API,
            PACKAGE + "ApplicationLoadBalancerRequestEvent", EventFormat.ALB);

    private EventClasses() {}

    /**
     * Returns the format for a class or one of its superclasses. Returns HTTP_API_V2 for all other
     * classes, for example maps, and for {@code null}.
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
