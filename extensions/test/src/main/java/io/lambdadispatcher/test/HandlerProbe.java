package io.lambdadispatcher.test;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.GatheredExchange;
import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Calls a handler with one request, without a network, for unit tests. The handler runs on its own
 * thread, which is the event loop of the request.
 *
 * <pre>{@code
 * TestAnswer answer = HandlerProbe.post("/orders")
 *         .header("content-type", "application/json")
 *         .body("{}")
 *         .call(handler);
 * }</pre>
 *
 * <p>Wrong calls throw as they do in a worker. Back-pressure, drains and tunnels are not imitated.
 * Use {@link TestDispatcher} to test them. Not thread-safe.
 */
public final class HandlerProbe {
    private static final int WAIT_SECONDS = 30;

    private final FlatHeaders headers = new FlatHeaders();
    private byte[] body = {};
    private Http2Headers trailers = EmptyHttp2Headers.INSTANCE;
    private boolean disconnects;

    private HandlerProbe(String method, String path) {
        headers.method(method).scheme("http").authority("localhost").path(HeaderText.bytesOf(path));
    }

    /**
     * Returns a probe that sends GET.
     *
     * @param path begins with {@code /}, and may have a query
     */
    public static HandlerProbe get(String path) {
        return new HandlerProbe("GET", path);
    }

    /**
     * Returns a probe that sends POST.
     *
     * @param path begins with {@code /}, and may have a query
     */
    public static HandlerProbe post(String path) {
        return new HandlerProbe("POST", path);
    }

    /**
     * Returns a probe that sends any method.
     *
     * @param method for example {@code PUT}
     * @param path begins with {@code /}, and may have a query
     */
    public static HandlerProbe of(String method, String path) {
        return new HandlerProbe(method, path);
    }

    /**
     * Adds a header. Its name becomes lower case.
     *
     * @throws IllegalArgumentException if the name or the value is not allowed in HTTP
     */
    public HandlerProbe header(String name, String value) {
        OutgoingHeaders.verifyName(name);
        headers.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
        return this;
    }

    /** Sets the body, which is copied. Default: empty. */
    public HandlerProbe body(byte[] bytes) {
        body = bytes.clone();
        return this;
    }

    /** Sets the body as text in UTF-8. Default: empty. */
    public HandlerProbe body(String text) {
        return body(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Adds a trailer, which arrives after the body. Its name becomes lower case. */
    public HandlerProbe trailer(String name, String value) {
        trailers = trailers.isEmpty() ? new FlatHeaders() : trailers;
        trailers.add(AsciiString.of(name).toLowerCase(), HeaderText.bytesOf(value));
        return this;
    }

    /**
     * Lets the client disconnect as soon as {@link Handler#handle} has returned, if the response
     * has not ended by then.
     */
    public HandlerProbe clientDisconnects() {
        disconnects = true;
        return this;
    }

    /**
     * Calls the handler, and waits for the end of the response. Each call is a new request.
     *
     * @throws AssertionError if the handler throws, fails the response, or does not end it within
     *     30 s, or if the client has disconnected. The cause is the exception that was thrown
     */
    public TestAnswer call(Handler handler) {
        ScheduledThreadPoolExecutor loop = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "handler-probe");
            thread.setDaemon(true);
            return thread;
        });
        loop.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        try {
            GatheredExchange exchange = new GatheredExchange(
                    loop,
                    new Message(headers, body.clone(), trailers),
                    Duration.ofSeconds(WAIT_SECONDS),
                    Integer.MAX_VALUE);
            loop.execute(() -> exchange.call(handler));
            if (disconnects) {
                exchange.cancel(FailureReason.CANCELLED, "the client has disconnected");
            }
            Message answer = exchange.answer().get(WAIT_SECONDS, TimeUnit.SECONDS);
            return new TestAnswer(
                    StatusCode.parse(answer.head().status()),
                    HeaderMaps.of(answer.head()),
                    answer.body(),
                    HeaderMaps.of(answer.trailers()));
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
            throw new AssertionError("no response: " + cause.getMessage(), cause);
        } catch (TimeoutException e) {
            loop.shutdownNow();
            throw new AssertionError("the handler has not ended its response within " + WAIT_SECONDS + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } finally {
            // Without an interrupt, because the handler may still be in the call that has ended it.
            loop.shutdown();
        }
    }
}
