package io.lambdadispatcher.bench.lambda;

import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.OutputStream;
import java.util.Base64;
import java.util.Map;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Writes a response in the format that a load balancer expects from a function. */
final class AlbResponse {
    private static final JsonFactory JSON = new JsonFactory();

    private AlbResponse() {}

    static void write(Message answer, OutputStream output) {
        Http2Headers head = answer.head();
        byte[] body = answer.body();
        boolean base64 = body.length > 0 && !isText(head);
        try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), output)) {
            json.writeStartObject();
            json.writeNumberProperty(
                    "statusCode", Integer.parseInt(head.status().toString()));
            json.writeObjectPropertyStart("headers");
            for (Map.Entry<CharSequence, CharSequence> field : head) {
                if (field.getKey().charAt(0) != ':') {
                    json.writeStringProperty(
                            field.getKey().toString(), field.getValue().toString());
                }
            }
            json.writeEndObject();
            json.writeBooleanProperty("isBase64Encoded", base64);
            json.writeName("body");
            if (base64) {
                // Base64 needs no escapes. HotSpot compiles the JDK's encoder to vector
                // instructions.
                byte[] encoded = Base64.getEncoder().encode(body);
                json.writeRawUTF8String(encoded, 0, encoded.length);
            } else {
                json.writeUTF8String(body, 0, body.length);
            }
            json.writeEndObject();
        }
    }

    private static boolean isText(Http2Headers head) {
        CharSequence type = head.get(HttpHeaderNames.CONTENT_TYPE);
        String text = type == null ? "" : type.toString();
        return text.startsWith("text/") || text.startsWith("application/json");
    }
}
