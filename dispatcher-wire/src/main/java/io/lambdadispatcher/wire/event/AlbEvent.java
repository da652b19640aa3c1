package io.lambdadispatcher.wire.event;

import io.netty.handler.codec.http2.Http2Headers;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/**
 * The event of a load balancer's target group (<a
 * href="https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html">AWS's
 * description</a>). If it has one value for each name, that is the client's last value. Query
 * parameters are not decoded.
 */
final class AlbEvent extends EventWriter {
    private final String targetGroup;
    private final boolean multiValue;

    AlbEvent(String function, boolean multiValue) {
        this.targetGroup = "lambda-dispatcher:targetgroup/" + function;
        this.multiValue = multiValue;
    }

    @Override
    void writeRequest(JsonGenerator json, Http2Headers head, @Nullable String requestId) {
        json.writeObjectPropertyStart("requestContext");
        json.writeObjectPropertyStart("elb");
        json.writeStringProperty("targetGroupArn", targetGroup);
        json.writeEndObject();
        json.writeEndObject();
        json.writeStringProperty("httpMethod", head.method().toString());
        json.writeStringProperty("path", path(head));
        write(json, "queryStringParameters", "multiValueQueryStringParameters", QueryString.raw(query(head)));
        write(json, "headers", "multiValueHeaders", fields(head));
    }

    private void write(JsonGenerator json, String single, String multi, Map<String, Values> fields) {
        if (multiValue) {
            writeAll(json, multi, fields);
        } else {
            writeLast(json, single, fields);
        }
    }

    @Override
    boolean isTextType(@Nullable String type) {
        return isTextByLoadBalancer(type);
    }

    @Override
    void writeEmptyBody(JsonGenerator json) {
        json.writeStringProperty("body", "");
    }
}
