package io.lambdadispatcher.it;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs in the workers of {@link StreamsIT}. {@code /events} is a stream that sends an event for
 * each request to {@code /tick}. {@code /listening} returns the number of these streams. {@code
 * /echo} returns body and trailers. {@code /blocking} streams until the worker drains.
 */
public final class StreamsHandler implements Handler {
    private final Set<Response> listening = ConcurrentHashMap.newKeySet();
    private final AtomicInteger events = new AtomicInteger();
    private final Handler blocking = blocking().asHandler();

    public StreamsHandler() {}

    @Override
    public void handle(Request request, Response response) throws Exception {
        switch (request.path()) {
            case "/events" -> listen(request, response);
            case "/tick" -> {
                String event = "data: event " + events.incrementAndGet() + "\n\n";
                listening.forEach(to -> to.write(bytes(event)));
                response.respond(new DefaultHttp2Headers(false).status("204"));
            }
            case "/listening" ->
                response.respond(
                        new DefaultHttp2Headers(false).status("200"), bytes(Integer.toString(listening.size())));
            case "/echo" -> {
                response.head(200);
                Pipe.connect(request.body(), response);
            }
            case "/blocking" -> blocking.handle(request, response);
            default -> response.respond(new DefaultHttp2Headers(false).status("404"));
        }
    }

    private static ByteBuf bytes(String text) {
        return ByteBufUtil.writeAscii(UnpooledByteBufAllocator.DEFAULT, text);
    }

    private void listen(Request request, Response response) {
        Http2Headers head = new DefaultHttp2Headers(false).status("200").set("content-type", "text/event-stream");
        response.head(head);
        listening.add(response);
        request.onCancel(code -> listening.remove(response));
        request.onDrain(grace -> {
            listening.remove(response);
            response.write(bytes("event: drain\ndata: " + (grace.isZero() ? "none" : "some") + "\n\n"));
            response.end();
        });
    }

    private static BlockingHandler blocking() {
        return (request, response) -> {
            AtomicInteger told = new AtomicInteger();
            request.onDrain(grace -> told.incrementAndGet());
            while (request.grace().isEmpty()) {
                response.body().write("more\n".getBytes(StandardCharsets.US_ASCII));
                response.body().flush();
                TimeUnit.MILLISECONDS.sleep(10); // A stream of small parts.
            }
            boolean some = !request.grace().orElseThrow().isZero();
            Await.until("it is told", () -> told.get() == 1);
            // A listener that is added after the start of the drain is also called.
            request.onDrain(grace -> told.incrementAndGet());
            Await.until("it is told again", () -> told.get() == 2);
            response.body().write(("told " + told.get() + " times, some " + some).getBytes(StandardCharsets.US_ASCII));
        };
    }
}
