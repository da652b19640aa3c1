package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Runs in the workers of {@link GrpcHandlerIT}. It implements gRPC without a library, with one
 * method for each way in which a call can end.
 */
public final class GrpcHandler implements Handler {
    private final Map<String, String> ends = new ConcurrentHashMap<>();

    public GrpcHandler() {}

    @Override
    public void handle(Request request, Response response) {
        String path = request.path();
        String method = path.substring(path.lastIndexOf('/') + 1);
        request.onCancel(code -> ends.put(method, code.name()));
        if (method.equals("Ends")) {
            response.respond(new DefaultHttp2Headers(false).status("200"), bytes(ends.toString(), false));
        } else if (method.equals("Echo")) {
            response.head(head());
            new Echo(request.body(), response).begin();
        } else if (method.equals("TrailersOnly")) {
            response.respond(status(head(), 5, "not%20here"));
        } else if (method.equals("Throw")) {
            throw new IllegalStateException("as asked");
        } else if (method.equals("Metadata")) {
            response.head(head());
            Http2Headers fields = request.headers();
            response.write(
                    bytes(fields.get("te") + " " + fields.get("grpc-timeout") + " " + fields.get("x-bin-bin"), true));
            response.end(status(new DefaultHttp2Headers(false), 0, "").set("x-bin-bin", fields.get("x-bin-bin")));
        } else {
            response.head(head());
            request.body().read(new FirstMessage(method, response));
        }
    }

    private static Http2Headers head() {
        return new DefaultHttp2Headers(false).status("200").set("content-type", "application/grpc");
    }

    private static Http2Headers status(Http2Headers fields, int code, String message) {
        return fields.set("grpc-status", Integer.toString(code)).set("grpc-message", message);
    }

    /** @param framed adds gRPC's prefix of five bytes */
    private static ByteBuf bytes(String text, boolean framed) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        ByteBuf buffer = UnpooledByteBufAllocator.DEFAULT.directBuffer(5 + bytes.length);
        return framed ? buffer.writeByte(0).writeInt(bytes.length).writeBytes(bytes) : buffer.writeBytes(bytes);
    }

    /** Echoes each message when it arrives, and ends with OK when the client has ended its half. */
    private static final class Echo extends Pipe {
        private final Response to;

        Echo(RequestBody from, Response to) {
            super(from, to);
            this.to = to;
        }

        void begin() {
            start();
        }

        @Override
        public void onEnd(Http2Headers trailers) {
            to.end(status(new DefaultHttp2Headers(false), 0, ""));
        }
    }

    /** Reacts to the first message, although the client would send more. */
    private final class FirstMessage implements BodyReader {
        private final String method;
        private final Response response;
        private boolean done;

        FirstMessage(String method, Response response) {
            this.method = method;
            this.response = response;
        }

        @Override
        public void onData(ByteBuf bytes) {
            bytes.release();
            if (done) {
                return;
            }
            done = true;
            if (method.equals("Early")) {
                response.write(bytes("enough", true));
                response.end(status(new DefaultHttp2Headers(false), 9, "no%20more"));
            } else if (method.startsWith("Reset-")) {
                response.write(bytes("begun", true));
                response.fail(FailureReason.valueOf(method.substring(6)), "as asked");
            }
        }

        @Override
        public void onEnd(Http2Headers trailers) {}

        @Override
        public void onFailed(FailureReason code) {}
    }
}
