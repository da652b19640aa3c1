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
 * A handler that answers as a test has told it, by path, well or badly: for tests of programs that embed a dispatcher. A path that is not in the
 * script is answered with 404. Any thread.
 */
public final class ScriptedHandler implements Handler {
    private final Map<String, Handler> script = new ConcurrentHashMap<>();
    private final List<String> served = new CopyOnWriteArrayList<>();

    /** Answers a path with a text. */
    public ScriptedHandler respond(String path, int status, String text) {
        return on(path, (request, response) -> response.respond(status, text));
    }

    /** Answers a path with a text, after some time. */
    public ScriptedHandler respondAfter(Duration delay, String path, int status, String text) {
        return on(
                path,
                (request, response) -> request.eventLoop()
                        .schedule(() -> response.respond(status, text), delay.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** Throws at a path: the client gets 500. */
    public ScriptedHandler fail(String path) {
        return on(path, (request, response) -> {
            throw new IllegalStateException("scripted to fail at " + path);
        });
    }

    /** Never answers a path: the request ends with its timeout. */
    public ScriptedHandler hang(String path) {
        return on(path, (request, response) -> {});
    }

    /** Breaks the response off behind its head and a part of its body. */
    public ScriptedHandler breakOff(String path, String part) {
        return on(path, (request, response) -> {
            response.head(200);
            response.write(Unpooled.copiedBuffer(part, StandardCharsets.UTF_8));
            response.fail(FailureReason.HANDLER_FAILED, "scripted to break off");
        });
    }

    /** Refuses a path, as a worker does that is overloaded: the dispatcher tries another worker. */
    public ScriptedHandler refuse(String path) {
        return on(path, (request, response) -> response.fail(FailureReason.REFUSED, "scripted to refuse"));
    }

    /** Answers a path with any handler. */
    public ScriptedHandler on(String path, Handler handler) {
        script.put(path, handler);
        return this;
    }

    /** Returns method and path of each request so far, such as {@code GET /}. */
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
