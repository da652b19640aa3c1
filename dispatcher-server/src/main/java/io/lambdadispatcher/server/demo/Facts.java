package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.OutputStream;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * Answers with a JSON object about the request. The first such request loads this class and the
 * JSON library.
 */
final class Facts {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int USUAL_BYTES = 1024;

    private Facts() {}

    interface Content {
        void writeTo(JsonGenerator json);
    }

    static void headers(Request request, Response response) {
        answer(request, response, json -> writeHeaders(json, request.headers()));
    }

    /** Answers when the request's body has ended. */
    static void debug(Request request, Response response) {
        request.body().read(new Counting(request, response));
    }

    static void answer(Request request, Response response, Content content) {
        ByteBuf body = ByteBufAllocator.DEFAULT.directBuffer(USUAL_BYTES);
        try (JsonGenerator json =
                JSON.createGenerator(ObjectWriteContext.empty(), (OutputStream) new ByteBufOutputStream(body))) {
            json.writeStartObject();
            content.writeTo(json);
            json.writeEndObject();
        }
        Answers.answer(request, response, Answers.head(Answers.OK, Answers.JSON, body.readableBytes()), body);
    }

    /**
     * Writes headers without pseudo-headers. A header that occurs more than once becomes an array.
     */
    private static void writeHeaders(JsonGenerator json, Http2Headers headers) {
        Map<String, List<CharSequence>> fields = new LinkedHashMap<>();
        for (CharSequence name : headers.names()) {
            if (name.charAt(0) != ':') {
                fields.put(name.toString(), headers.getAll(name));
            }
        }
        fields.forEach((name, values) -> {
            json.writeName(name);
            if (values.size() == 1) {
                json.writeString(values.get(0).toString());
                return;
            }
            json.writeStartArray();
            values.forEach(value -> json.writeString(value.toString()));
            json.writeEndArray();
        });
    }

    private static final class Counting implements BodyReader {
        private final Request request;
        private final Response response;
        private long bytes;

        Counting(Request request, Response response) {
            this.request = request;
            this.response = response;
        }

        @Override
        public void onData(ByteBuf part) {
            bytes += part.readableBytes();
            part.release();
        }

        @Override
        public void onEnd(Http2Headers trailers) {
            answer(request, response, json -> {
                json.writeStringProperty("method", request.method().toString());
                json.writeStringProperty("path", request.path());
                json.writeStringProperty(
                        "scheme", String.valueOf(request.headers().scheme()));
                json.writeStringProperty(
                        "authority", String.valueOf(request.headers().authority()));
                json.writeNumberProperty("bodyBytes", bytes);
                json.writeNumberProperty(
                        "remainingMillis",
                        request.remaining().map(Duration::toMillis).orElse(-1L));
                json.writeObjectPropertyStart("headers");
                writeHeaders(json, request.headers());
                json.writeEndObject();
                json.writeObjectPropertyStart("trailers");
                writeHeaders(json, trailers);
                json.writeEndObject();
                json.writeObjectPropertyStart("worker");
                json.writeNumberProperty("pid", ProcessHandle.current().pid());
                json.writeStringProperty("java", Runtime.version().toString());
                json.writeStringProperty("thread", Thread.currentThread().getName());
                json.writeEndObject();
            });
        }

        @Override
        public void onFailed(FailureReason code) {
            response.fail(code, "the request's body is incomplete");
        }
    }
}
