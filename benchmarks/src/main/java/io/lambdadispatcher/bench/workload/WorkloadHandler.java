package io.lambdadispatcher.bench.workload;

import com.example.inference.InferenceHandler;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.demo.DemoHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The routes of the published scenarios. Those that the demo has ({@code /ping}, the image, {@code /echo}) are the demo's. No route holds a
 * thread while it waits.
 *
 * <table>
 * <caption>What is added</caption>
 * <tr><td>{@code GET /s3/image}</td><td>the image, after as long as S3 would take</td></tr>
 * <tr><td>{@code POST /inference/json}, {@code /inference/protobuf}</td><td>a probability: {@link InferenceHandler}</td></tr>
 * <tr><td>{@code GET /put/1}, {@code /put/10}</td><td>so many puts to the database, one after the other</td></tr>
 * <tr><td>{@code GET /put-afresh/1}, {@code /put-afresh/10}</td><td>the same with a new connection for each</td></tr>
 * <tr><td>{@code GET /sometimes}</td><td>four octets; one in {@value #SILENT_ONE_IN} gets no answer at all</td></tr>
 * </table>
 */
public final class WorkloadHandler implements Handler {
    public static final int SILENT_ONE_IN = 326;

    private static final String IMAGE_PATH = "/public/silly-test-image.jpg";
    private static final AsciiString OK = AsciiString.cached("200");
    private static final AsciiString TEXT = AsciiString.cached("text/plain; charset=utf-8");
    private static final AsciiString JPEG = AsciiString.cached("image/jpeg");
    private static final byte[] PONG = {'p', 'o', 'n', 'g'};

    /** Of all handlers of the process: which of them a request meets is not to matter. */
    private static final AtomicLong SOMETIMES = new AtomicLong();

    private final Handler demo = new DemoHandler();
    private final Handler inference = new InferenceHandler();
    private final Wait s3;
    private final Database database;

    /** @param database made anew for each handler, as each execution environment has connections of its own */
    public WorkloadHandler(Wait s3, Database database) {
        this.s3 = s3;
        this.database = database;
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        switch (request.path()) {
            case "/s3/image" -> s3Image(request, response);
            case "/inference/json", "/inference/protobuf" -> inference.handle(request, response);
            case "/put/1" -> put(1, true, request, response);
            case "/put/10" -> put(10, true, request, response);
            case "/put-afresh/1" -> put(1, false, request, response);
            case "/put-afresh/10" -> put(10, false, request, response);
            case "/sometimes" -> sometimes(response);
            default -> demo.handle(request, response);
        }
    }

    private void s3Image(Request request, Response response) {
        request.eventLoop().schedule(() -> respond(response, JPEG, Image.OCTETS), s3.nextNanos(), TimeUnit.NANOSECONDS);
    }

    private void put(int times, boolean keepAlive, Request request, Response response) {
        database.put(times, keepAlive, request.eventLoop()).whenComplete((done, error) -> {
            if (error == null) {
                respond(response, TEXT, PONG);
            } else {
                response.fail(ErrorCode.HANDLER_FAILED, String.valueOf(error));
            }
        });
    }

    private static void sometimes(Response response) {
        if (SOMETIMES.incrementAndGet() % SILENT_ONE_IN != 0) {
            respond(response, TEXT, PONG);
        }
    }

    /** @param octets not to be changed afterwards */
    private static void respond(Response response, AsciiString type, byte[] octets) {
        Http2Headers head = new DefaultHttp2Headers(false)
                .status(OK)
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(octets.length)));
        response.respond(head, Unpooled.wrappedBuffer(octets));
    }

    /** Loaded with the first request for it. */
    private static final class Image {
        static final byte[] OCTETS = octets();

        private static byte[] octets() {
            try (InputStream in = DemoHandler.class.getResourceAsStream(IMAGE_PATH)) {
                if (in == null) {
                    throw new IllegalStateException(
                            IMAGE_PATH + " is not on the class path, expected it from lambda-worker");
                }
                return in.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(IMAGE_PATH + " cannot be read", e);
            }
        }
    }
}
