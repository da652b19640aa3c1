package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * The handler of the demo: routes that benchmarks of comparable systems use, and routes that fail
 * on purpose. {@code /} lists all routes.
 */
public final class DemoHandler implements Handler {
    static final int MOST_DELAY_MILLIS = 600_000;

    private static final int MOST_PARTS = 1_000_000;
    private static final AsciiString ODD = AsciiString.cached("519");
    private static final AsciiString BAD_REQUEST = AsciiString.cached("400");
    private static final AsciiString NOT_FOUND = AsciiString.cached("404");
    private static final AsciiString EVENTS = AsciiString.cached("text/event-stream");

    private static final Answers.Fixed PONG = Answers.Fixed.text(Answers.OK, "pong");
    private static final Answers.Fixed HEALTHY = Answers.Fixed.text(Answers.OK, "ok");
    private static final Answers.Fixed ODD_STATUS = Answers.Fixed.text(ODD, "odd status 519");

    private final Map<String, Handler> routes = new HashMap<>();

    public DemoHandler() {
        routes.put("/", this::index);
        routes.put("/ping", PONG::send);
        routes.put("/health", HEALTHY::send);
        routes.put("/odd-status", ODD_STATUS::send);
        routes.put(TestImage.PATH, (request, response) -> TestImage.ANSWER.send(request, response));
        routes.put("/headers", (request, response) -> Facts.headers(request, response));
        routes.put("/debug", (request, response) -> Facts.debug(request, response));
        routes.put("/delay", DemoHandler::delay);
        routes.put("/chunked-response", DemoHandler::chunkedResponse);
        routes.put("/sse", DemoHandler::serverSentEvents);
        routes.put("/echo", Echoes::echo);
        routes.put("/echo-slow", Echoes::slow);
        routes.put("/double-echo", Echoes::twice);
        routes.put("/half-echo", Echoes::half);
        routes.put("/hints", DemoHandler::hints);
        routes.put("/fail", DemoHandler::fail);
        routes.put("/silent", (request, response) -> {});
        BlockingHandler file = new LocalFile(System.getenv(LocalFile.VARIABLE));
        routes.put("/read", (request, response) -> file.asHandler().handle(request, response));
        BlockingHandler echo = (request, response) -> {
            request.body().transferTo(response.body());
            request.trailers().forEach((name, values) -> values.forEach(value -> response.trailer(name, value)));
        };
        routes.put("/blocking-echo", (request, response) -> echo.asHandler().handle(request, response));
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        Handler route = routes.get(withoutQuery(request.path()));
        if (route == null) {
            Answers.text(request, response, NOT_FOUND, "no route " + request.path() + "\n");
            return;
        }
        try {
            route.handle(request, response);
        } catch (IllegalArgumentException e) {
            Answers.text(request, response, BAD_REQUEST, e.getMessage() + "\n");
        }
    }

    private static String withoutQuery(String path) {
        int mark = path.indexOf('?');
        return mark < 0 ? path : path.substring(0, mark);
    }

    private void index(Request request, Response response) {
        Answers.text(request, response, Answers.OK, String.join("\n", new TreeSet<>(routes.keySet())) + "\n");
    }

    private static void delay(Request request, Response response) {
        int millis = Query.of(request.path()).number("delay", 20, MOST_DELAY_MILLIS);
        request.eventLoop()
                .schedule(
                        () -> Answers.text(request, response, Answers.OK, "delayed by " + millis + " ms"),
                        millis,
                        TimeUnit.MILLISECONDS);
    }

    private static void chunkedResponse(Request request, Response response) {
        Query query = Query.of(request.path());
        int chunks = query.number("chunks", 10, MOST_PARTS);
        int delayMillis = query.number("delay", 50, MOST_DELAY_MILLIS);
        response.head(Answers.head(Answers.OK, Answers.TEXT));
        new Drip(request, response, chunks, delayMillis, i -> "chunk " + i + "\n").start();
    }

    private static void serverSentEvents(Request request, Response response) {
        Query query = Query.of(request.path());
        int events = query.number("count", 10, MOST_PARTS);
        int delayMillis = query.number("delay", 100, MOST_DELAY_MILLIS);
        response.head(Answers.head(Answers.OK, EVENTS).set(HttpHeaderNames.CACHE_CONTROL, "no-cache"));
        new Drip(request, response, events, delayMillis, i -> "id: " + i + "\ndata: event " + i + "\n\n").start();
    }

    /** Sends a 103 (Early Hints) before the answer. */
    private static void hints(Request request, Response response) {
        Http2Headers hints = new DefaultHttp2Headers().status("103").set("link", "</style.css>; rel=preload; as=style");
        response.interim(hints);
        PONG.send(request, response);
    }

    private static void fail(Request request, Response response) {
        if (Query.of(request.path()).text("after", "nothing").equals("head")) {
            response.head(200);
        }
        throw new IllegalStateException("asked to fail");
    }
}
