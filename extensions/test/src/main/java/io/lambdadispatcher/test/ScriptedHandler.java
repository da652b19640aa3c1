package io.lambdadispatcher.test;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * Responds to each path as a test demands, including with failures. Use it in tests of programs
 * that embed a dispatcher. Other paths are answered with 404.
 *
 * <pre>{@code
 * ScriptedHandler handler = new ScriptedHandler().respond("/", 200, "hello").hang("/slow");
 * try (TestDispatcher dispatcher = TestDispatcher.serving(handler)) {
 *     assertEquals("hello", dispatcher.get("/").text());
 *     assertEquals(List.of("GET /"), handler.served());
 * }
 * }</pre>
 *
 * <p>A path includes the query, as in {@code /search?q=1}. Each method replaces the previous script
 * of its path. Any thread.
 */
public final class ScriptedHandler implements Handler {
    private final Map<String, Handler> script = new ConcurrentHashMap<>();
    private final List<String> served = new CopyOnWriteArrayList<>();

    /** Responds to a path with a status and a text in UTF-8. */
    public ScriptedHandler respond(String path, int status, String text) {
        return on(path, (request, response) -> response.respond(status, text));
    }

    /** Responds to a path with a status and a text in UTF-8, after a delay. */
    public ScriptedHandler respondAfter(Duration delay, String path, int status, String text) {
        return on(
                path,
                (request, response) -> request.eventLoop()
                        .schedule(() -> response.respond(status, text), delay.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** Throws an exception for a path. An HTTP client receives 500. */
    public ScriptedHandler fail(String path) {
        return on(path, (request, response) -> {
            throw new IllegalStateException("scripted to fail at " + path);
        });
    }

    /** Never responds to a path. The request ends with its timeout. */
    public ScriptedHandler hang(String path) {
        return on(path, (request, response) -> {});
    }

    /**
     * Breaks off the response for a path after its headers and a part of its body. The status is
     * 200.
     *
     * @param part the text that is sent before the break
     */
    public ScriptedHandler breakOff(String path, String part) {
        return on(path, (request, response) -> {
            response.head(200);
            response.write(Unpooled.copiedBuffer(part, StandardCharsets.UTF_8));
            response.fail(FailureReason.HANDLER_FAILED, "scripted to break off");
        });
    }

    /**
     * Refuses the requests for a path, as an overloaded worker does. The dispatcher may try another
     * worker.
     */
    public ScriptedHandler refuse(String path) {
        return on(path, (request, response) -> response.fail(FailureReason.REFUSED, "scripted to refuse"));
    }

    /** Serves a path with any handler. */
    public ScriptedHandler on(String path, Handler handler) {
        script.put(path, handler);
        return this;
    }

    /**
     * Returns the method and the path of each request so far, in order of arrival, for example
     * {@code GET /}. The list is a copy.
     */
    public List<String> served() {
        return List.copyOf(served);
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        served.add(request.method() + " " + request.path());
        Handler handler = script.get(request.path());
        if (handler == null) {
            response.respond(404, "not in the script: " + request.path() + "\n");
        } else {
            handler.handle(request, response);
        }
    }
}
