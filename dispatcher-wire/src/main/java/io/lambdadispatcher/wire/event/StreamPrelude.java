package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.handler.codec.http2.Http2Headers;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * The headers of a response that a function streams: {@code {"statusCode": 200, "headers": {},
 * "multiValueHeaders": {}, "cookies": []}}, all of them optional (<a
 * href="https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html">AWS's description</a>).
 * A {@code content-length} is kept, because only the function knows the length. Any thread.
 */
public final class StreamPrelude {
    private static final JsonFactory JSON = new JsonFactory();

    private StreamPrelude() {}

    public static Http2Headers read(byte[] prelude) throws BadResponseException {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), prelude)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new BadResponseException("no JSON object");
            }
            FunctionResponseHead head = new FunctionResponseHead();
            int status = 200;
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                json.nextToken();
                switch (name) {
                    case "statusCode" ->
                        status = FunctionResponseHead.status(
                                json.currentToken().isScalarValue() ? json.getString() : "");
                    case "headers", "multiValueHeaders" -> readFields(json, head);
                    case "cookies" -> readValues(json, "set-cookie", head);
                    default -> json.skipChildren();
                }
            }
            if (json.nextToken() != null) {
                throw new BadResponseException("JSON continues after its end");
            }
            // As for HEAD, because the function announces the body's length.
            return head.response(status, new byte[0], "HEAD").head();
        } catch (JacksonException e) {
            throw new BadResponseException("malformed JSON");
        }
    }

    private static void readFields(JsonParser json, FunctionResponseHead head) throws BadResponseException {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            skipOnlyNull(json, "headers is not an object");
            return;
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            json.nextToken();
            readValues(json, name, head);
        }
    }

    /** Reads one value, or an array of values. */
    private static void readValues(JsonParser json, String name, FunctionResponseHead head)
            throws BadResponseException {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            readValue(json, name, head);
            return;
        }
        while (json.nextToken() != JsonToken.END_ARRAY) {
            readValue(json, name, head);
        }
    }

    private static void readValue(JsonParser json, String name, FunctionResponseHead head) throws BadResponseException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (!json.currentToken().isScalarValue()) {
            throw new BadResponseException("the value of " + HeaderSyntax.printable(name) + " is not a string");
        }
        head.add(name, json.getString());
    }

    private static void skipOnlyNull(JsonParser json, String otherwise) throws BadResponseException {
        if (json.currentToken() != JsonToken.VALUE_NULL) {
            throw new BadResponseException(otherwise);
        }
    }
}
