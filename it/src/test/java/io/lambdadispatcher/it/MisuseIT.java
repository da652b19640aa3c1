package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/**
 * Uses the API incorrectly, and checks that the program gets an error instead of a hang, and that
 * concurrent requests are answered. docs/reference/wrong-uses.md shows the results. {@code
 * -Ddocs.update=true} writes this page.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(300)
class MisuseIT {
    private static final String SECRET = "sixteen bytes at least";
    private static final int NEIGHBOURS = 10;
    private static final int WAIT_SECONDS = 20;
    private static final ListenerOptions ANY_PORT = ListenerOptions.plain("127.0.0.1", 0);

    private final Log log = new Log();
    private final Map<String, Handler> handlers = new LinkedHashMap<>();
    private @Nullable Dispatcher dispatcher;
    private @Nullable Worker worker;

    /**
     * Keeps log lines at WARN and above, and all failures of handlers. The dispatcher logs only one
     * such failure per second as a warning.
     */
    private static final class Log extends AppenderBase<ILoggingEvent> {
        final Queue<String> lines = new ConcurrentLinkedQueue<>();

        @Override
        protected void append(ILoggingEvent event) {
            boolean failure = event.getLoggerName().endsWith("FailureLog");
            if (event.getLevel().isGreaterOrEqual(Level.WARN) || failure) {
                IThrowableProxy cause = event.getThrowableProxy();
                String text =
                        event.getFormattedMessage().replace(". Further failures within 1 s are logged at TRACE.", "");
                lines.add(
                        text + (cause == null ? "" : ": " + simple(cause.getClassName()) + ": " + cause.getMessage()));
            }
        }
    }

    @BeforeAll
    void begin() {
        Logger root = (Logger) LoggerFactory.getLogger("io.lambdadispatcher");
        log.setContext(root.getLoggerContext());
        log.start();
        root.addAppender(log);
        ((Logger) LoggerFactory.getLogger("io.lambdadispatcher.worker.internal.exchange.FailureLog"))
                .setLevel(Level.TRACE);
        handlers.put("/ok", (request, response) -> response.respond(200, "fine"));
        dispatcher = dispatcher(builder -> builder);
        Handler byPath = (request, response) -> {
            Handler handler = handlers.get(request.path());
            if (handler == null) {
                throw new IllegalStateException("no handler " + request.path());
            }
            handler.handle(request, response);
        };
        worker = worker(dispatcher, byPath);
    }

    @AfterAll
    void end() {
        ((Logger) LoggerFactory.getLogger("io.lambdadispatcher")).detachAppender(log);
        if (worker != null) {
            worker.close();
        }
        if (dispatcher != null) {
            dispatcher.close();
        }
    }

    private static Dispatcher.Builder builder() {
        return Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .requestTimeout(Duration.ofSeconds(2))
                        .queue(100, Duration.ofMillis(500))
                        .build())
                .workerListener(ANY_PORT)
                .eventLoops(1)
                .limits(HttpLimits.builder()
                        .writeTimeout(Duration.ofMillis(500))
                        .build())
                .secret(SECRET);
    }

    private static Dispatcher dispatcher(Function<Dispatcher.Builder, Dispatcher.Builder> change) {
        return change.apply(builder()).start();
    }

    private static WorkerConfig.Builder config(Dispatcher to) {
        return WorkerConfig.builder("f", new Credential.Secret(SECRET), List.of(to.workerAddress()))
                .connections(1)
                .streams(50);
    }

    private static Worker worker(Dispatcher to, Handler handler) {
        Worker started = new Worker(config(to).build(), handler).start();
        started.ready()
                .toCompletableFuture()
                .orTimeout(WAIT_SECONDS, TimeUnit.SECONDS)
                .join();
        return started;
    }

    // The error that the caller gets.

    private static String simple(String className) {
        return className.substring(className.lastIndexOf('.') + 1);
    }

    private static String told(Throwable thrown) {
        Throwable cause = thrown instanceof CompletionException || thrown instanceof ExecutionException
                ? thrown.getCause()
                : thrown;
        String message = String.valueOf(cause.getMessage());
        return simple(cause.getClass().getName()) + ": " + message;
    }

    /** Returns what the call throws. */
    private static String atCall(Callable<?> wrong) {
        try {
            Object result = wrong.call();
            if (result instanceof AutoCloseable open) {
                open.close();
            }
            throw new AssertionError("nothing was thrown, but " + result);
        } catch (Exception e) {
            return told(e);
        }
    }

    private static String answer(CompletableFuture<DispatchResponse> response) throws Exception {
        try {
            DispatchResponse head = response.get(WAIT_SECONDS, TimeUnit.SECONDS);
            String body = head.bodyAsString().toCompletableFuture().get(WAIT_SECONDS, TimeUnit.SECONDS);
            return head.status() + (body.isEmpty() ? "" : " \"" + body.strip() + "\"");
        } catch (ExecutionException e) {
            return told(e);
        } catch (TimeoutException e) {
            throw new AssertionError("it hangs", e);
        }
    }

    private CompletableFuture<DispatchResponse> send(DispatchRequest request) {
        return own().dispatch(request).toCompletableFuture();
    }

    private Dispatcher own() {
        if (dispatcher == null) {
            throw new IllegalStateException("not started");
        }
        return dispatcher;
    }

    private CompletableFuture<String> neighbour() {
        return send(DispatchRequest.post("/ok").build()).thenCompose(DispatchResponse::bodyAsString);
    }

    /** Returns the response to a request, while other requests are served concurrently. */
    private String beside(Callable<CompletableFuture<DispatchResponse>> wrong) throws Exception {
        log.lines.clear();
        List<CompletableFuture<String>> neighbours = new ArrayList<>();
        for (int i = 0; i < NEIGHBOURS / 2; i++) {
            neighbours.add(neighbour());
        }
        String told;
        try {
            CompletableFuture<DispatchResponse> response = wrong.call();
            for (int i = 0; i < NEIGHBOURS / 2; i++) {
                neighbours.add(neighbour());
            }
            told = answer(response);
        } catch (RuntimeException e) {
            told = "thrown by the call: " + told(e);
        }
        for (CompletableFuture<String> neighbour : neighbours) {
            assertThat(neighbour.get(WAIT_SECONDS, TimeUnit.SECONDS)).isEqualTo("fine");
        }
        assertThat(answer(send(DispatchRequest.post("/ok").build()))).isEqualTo("200 \"fine\"");
        return told;
    }

    private String handled(String method, Handler wrong, byte @Nullable [] body) throws Exception {
        handlers.put("/wrong", wrong);
        DispatchRequest.Builder request = DispatchRequest.builder(method, "/wrong");
        if (body != null) {
            request.body(body);
        }
        String told = beside(() -> send(request.build()));
        String logged = log.lines.stream().distinct().collect(Collectors.joining("; "));
        return "client: " + told + (logged.isEmpty() ? "" : "<br>log: " + logged);
    }

    private static Http2Headers head(String status) {
        return new DefaultHttp2Headers(false).status(status);
    }

    private static ByteBuf bytes(int count) {
        return ByteBufAllocator.DEFAULT.directBuffer(Math.max(1, count)).writeZero(count);
    }

    // The wrong uses.

    private interface Use {
        String run() throws Exception;
    }

    private final Map<String, Use> building = new LinkedHashMap<>();
    private final Map<String, Use> requesting = new LinkedHashMap<>();
    private final Map<String, Use> handling = new LinkedHashMap<>();
    private final Map<String, Use> working = new LinkedHashMap<>();

    private void build(String use, Function<Dispatcher.Builder, Dispatcher.Builder> wrong) {
        building.put(use, () -> atCall(() -> wrong.apply(builder()).start()));
    }

    private void request(String use, Callable<DispatchRequest> wrong) {
        requesting.put(use, () -> beside(() -> send(wrong.call())));
    }

    private void handle(String use, Handler wrong) {
        handling.put(use, () -> handled("POST", wrong, null));
    }

    private void blocking(String use, BlockingHandler wrong) {
        handle(use, wrong.asHandler());
    }

    private void building() {
        building.put(
                "no function",
                () -> atCall(() -> Dispatcher.builder().workerListener(ANY_PORT).start()));
        build("two functions with the same name", builder -> builder.function(FunctionOptions.of("f")));
        building.put(
                "no worker listener",
                () -> atCall(() ->
                        Dispatcher.builder().function(FunctionOptions.of("f")).start()));
        build("`function(null)`", builder -> builder.function(null));
        build("`workerListener(null)`", builder -> builder.workerListener(null));
        build("`observer(null)`", builder -> builder.observer(null));
        build("`errorRenderer(null)`", builder -> builder.errorRenderer(null));
        build("`router(null)`", builder -> builder.router(null));
        build("`launcher(null)`", builder -> builder.launcher(null));
        build("a launcher for a function that does not exist", builder -> builder.launcher("typo", new NoLauncher()));
        build(
                "`CapacityPolicy.fixed(2)` without a launcher",
                builder -> builder.function(FunctionOptions.builder("g")
                        .capacity(CapacityPolicy.fixed(2))
                        .build()));
        build(
                "a function in direct mode without an invoker",
                builder -> builder.direct(
                        "f",
                        DirectOptions.builder(DirectEventFormat.values()[0]).build()));
        build("a short secret", builder -> builder.secret(new byte[15]));
        build("a secret for a function that does not exist", builder -> builder.secret("typo", new byte[16]));
        build("`eventLoops(0)`", builder -> builder.eventLoops(0));
        build("`liveness(0, 0)`", builder -> builder.liveness(Duration.ZERO, Duration.ZERO));
        building.put(
                "a port that is in use",
                () -> atCall(() -> builder()
                                .publicListener(ListenerOptions.plain(own().workerAddress()))
                                .start())
                        .replace(Integer.toString(own().workerAddress().getPort()), "8080"));
        build("port 70,000", builder -> builder.publicListener(ListenerOptions.plain("127.0.0.1", 70_000)));
        build(
                "a host that does not exist",
                builder -> builder.publicListener(ListenerOptions.plain("no-such-host.invalid", 0)));
        build(
                "a certificate that does not exist",
                builder -> builder.publicListener(ListenerOptions.tls(
                        "127.0.0.1", 0, TlsOptions.of(Path.of("/no/cert.pem"), Path.of("/no/key.pem")))));
        building.put("`CapacityPolicy.between(3, 2)`", () -> atCall(() -> CapacityPolicy.between(3, 2)));
        building.put(
                "`requestIdHeader` with capital letters",
                () -> atCall(() -> ForwardingPolicy.builder()
                        .requestIdHeader("X-Request-Id")
                        .build()));
        building.put("a function without a name", () -> atCall(() -> FunctionOptions.of("")));
        building.put(
                "`streamsPerConnection(2000)`",
                () -> atCall(() ->
                        FunctionOptions.builder("f").streamsPerConnection(2000).build()));
        building.put(
                "a negative request timeout",
                () -> atCall(() -> FunctionOptions.builder("f")
                        .requestTimeout(Duration.ofSeconds(-1))
                        .build()));
        building.put(
                "`HttpLimits` with a timeout of zero",
                () -> atCall(
                        () -> HttpLimits.builder().idleTimeout(Duration.ZERO).build()));
        building.put(
                "`setLaunching` for a function without a launcher",
                () -> atCall(() -> {
                    own().setLaunching("f", false);
                    return "";
                }));
        building.put("`close(null)`", () -> atCall(() -> own().close(null)));
        building.put("`close` with a negative grace", () -> atCall(() -> own().close(Duration.ofSeconds(-1))));
        building.put(
                "`close` with a grace of a thousand years", () -> atCall(() -> own().close(Duration.ofDays(365_000))));
        building.put("a launcher whose `close` throws", () -> {
            log.lines.clear();
            dispatcher(builder -> builder.launcher(new NoLauncher())).close();
            return "close() completes; log: " + String.join("; ", log.lines);
        });
    }

    private void requesting() {
        request("a path without `/`", () -> DispatchRequest.get("ok").build());
        request("a path with a space", () -> DispatchRequest.get("/a b").build());
        request(
                "a method with a space",
                () -> DispatchRequest.builder("GE T", "/ok").build());
        request(
                "the method CONNECT",
                () -> DispatchRequest.builder("CONNECT", "/ok").build());
        request(
                "an authority with a path",
                () -> DispatchRequest.get("/ok").authority("host/path").build());
        request(
                "an authority of more than 300 characters",
                () -> DispatchRequest.get("/ok").authority("a".repeat(301)).build());
        request(
                "an unknown scheme",
                () -> DispatchRequest.get("/ok").scheme("ftp").build());
        request(
                "a header name with a space",
                () -> DispatchRequest.get("/ok").header("my header", "1").build());
        request(
                "a pseudo-header",
                () -> DispatchRequest.get("/ok").header(":path", "/other").build());
        request(
                "a header value with a line break",
                () -> DispatchRequest.get("/ok").header("x", "a\nb").build());
        request(
                "a `host` header that differs from the authority",
                () -> DispatchRequest.get("/ok").header("host", "other").build());
        request(
                "a header name with capital letters",
                () -> DispatchRequest.get("/ok").header("X-Name", "1").build());
        requesting.put("`dispatch(null)`", () -> beside(() -> send(null)));
        request(
                "a body longer than its `content-length`",
                () -> DispatchRequest.post("/ok")
                        .header("content-length", "3")
                        .body(publisher(to -> {
                            to.onNext(bytes(4));
                            to.onComplete();
                        }))
                        .build());
        request(
                "a body shorter than its `content-length`",
                () -> DispatchRequest.post("/ok")
                        .header("content-length", "5")
                        .body(publisher(to -> {
                            to.onNext(bytes(4));
                            to.onComplete();
                        }))
                        .build());
        request(
                "a released buffer in the request body",
                () -> DispatchRequest.post("/slow")
                        .body(publisher(to -> {
                            ByteBuf buffer = bytes(2000);
                            buffer.release();
                            to.onNext(buffer);
                            to.onComplete();
                        }))
                        .build());
        requesting.put("a buffer of the request body that is released after `onNext`", () -> {
            String told = beside(() -> send(DispatchRequest.post("/slow")
                    .body(publisher(to -> {
                        ByteBuf buffer = bytes(2000);
                        to.onNext(buffer);
                        buffer.release();
                        to.onComplete();
                    }))
                    .build()));
            return told + "; log: " + String.join("; ", log.lines);
        });
        request(
                "a publisher that throws in `subscribe`",
                () -> DispatchRequest.post("/slow")
                        .body(subscriber -> {
                            throw new IllegalStateException("no data");
                        })
                        .build());
        request(
                "a publisher that throws in `request`",
                () -> DispatchRequest.post("/slow")
                        .body(publisher(to -> {
                            throw new IllegalStateException("no data");
                        }))
                        .build());
        requesting.put("a large buffer that is released while its request is queued", () -> {
            try (Dispatcher alone = dispatcher(builder -> builder)) {
                DispatchRequest queued = DispatchRequest.post("/ok")
                        .body(publisher(to -> {
                            ByteBuf buffer = bytes(20_000);
                            to.onNext(buffer);
                            buffer.release();
                        }))
                        .build();
                return answer(alone.dispatch(queued).toCompletableFuture());
            }
        });
        request(
                "trailers from a failed `CompletionStage`",
                () -> DispatchRequest.post("/ok")
                        .body(publisher(to -> {
                            to.onNext(bytes(4));
                            to.onComplete();
                        }))
                        .trailers(CompletableFuture.failedFuture(new IllegalStateException("no sum")))
                        .build());
        requesting.put("a subscriber that throws in `onNext`", () -> {
            log.lines.clear();
            beside(() -> {
                send(DispatchRequest.post("/ok").build())
                        .thenAccept(response -> response.body().subscribe(new Collecting(1) {
                            @Override
                            public void onNext(ByteBuf item) {
                                item.release();
                                throw new IllegalStateException("cannot take it");
                            }
                        }));
                return send(DispatchRequest.post("/ok").build());
            });
            return "log: " + String.join("; ", log.lines);
        });
        requesting.put("`request(0)` by a subscriber", () -> {
            Collecting collecting = new Collecting(0);
            send(DispatchRequest.post("/ok").build())
                    .thenAccept(response -> response.body().subscribe(collecting));
            return told(collecting.end.handle((end, error) -> error).get(WAIT_SECONDS, TimeUnit.SECONDS));
        });
        requesting.put("`request(0)` by a subscriber, after the whole response has arrived", () -> {
            DispatchResponse response =
                    send(DispatchRequest.post("/ok").build()).get(WAIT_SECONDS, TimeUnit.SECONDS);
            TimeUnit.MILLISECONDS.sleep(200); // The whole response arrives.
            Collecting collecting = new Collecting(0);
            response.body().subscribe(collecting);
            return told(collecting.end.handle((end, error) -> error).get(WAIT_SECONDS, TimeUnit.SECONDS));
        });
        requesting.put("a response body that is read twice", () -> {
            DispatchResponse response =
                    send(DispatchRequest.post("/ok").build()).get(WAIT_SECONDS, TimeUnit.SECONDS);
            response.bodyAsBytes();
            return told(response.bodyAsString()
                    .toCompletableFuture()
                    .handle((text, error) -> error)
                    .get(WAIT_SECONDS, TimeUnit.SECONDS));
        });
        requesting.put("`bodyAsBytes` on a body above its limit", () -> {
            DispatchResponse response =
                    send(DispatchRequest.post("/ok").build()).get(WAIT_SECONDS, TimeUnit.SECONDS);
            return told(response.bodyAsBytes(3)
                    .toCompletableFuture()
                    .handle((text, error) -> error)
                    .get(WAIT_SECONDS, TimeUnit.SECONDS));
        });
        requesting.put("`bodyAsBytes(-1)`", () -> {
            DispatchResponse response =
                    send(DispatchRequest.post("/ok").build()).get(WAIT_SECONDS, TimeUnit.SECONDS);
            String told = atCall(() -> response.bodyAsBytes(-1));
            response.discard();
            return told;
        });
        requesting.put("a response body that nobody reads", () -> {
            log.lines.clear();
            handlers.put("/long", (request, response) -> {
                response.head(200);
                response.write(bytes(100_000));
            });
            DispatchResponse response =
                    send(DispatchRequest.post("/long").build()).get(WAIT_SECONDS, TimeUnit.SECONDS);
            TimeUnit.SECONDS.sleep(1); // The rest of the response arrives, and fills the window.
            String told = told(response.bodyAsString()
                    .toCompletableFuture()
                    .handle((text, error) -> error)
                    .get(WAIT_SECONDS, TimeUnit.SECONDS));
            return told + "; log: " + log.lines.peek();
        });
        requesting.put("a request while no worker is connected", () -> {
            try (Dispatcher alone = dispatcher(builder -> builder)) {
                log.lines.clear();
                return "isReady() is " + alone.isReady() + "; "
                        + answer(alone.dispatch(DispatchRequest.get("/ok").build())
                                .toCompletableFuture())
                        + "; log: " + log.lines.peek();
            }
        });
        requesting.put("a request after `close`", () -> {
            Dispatcher closed = dispatcher(builder -> builder);
            closed.close();
            return answer(closed.dispatch(DispatchRequest.get("/ok").build()).toCompletableFuture());
        });
        requesting.put(
                "a router that throws",
                () -> routed(head -> {
                    throw new IllegalStateException("no route");
                }));
        requesting.put("a router that names an unknown function", () -> routed(head -> RouteTarget.of("typo")));
        requesting.put(
                "an observer that throws at the start",
                () -> observed(new DispatcherObserver() {
                    @Override
                    public ExchangeListener onExchangeStart(ExchangeStart start) {
                        throw new IllegalStateException("cannot begin");
                    }
                }));
        requesting.put(
                "an observer that throws at the end",
                () -> observed(new DispatcherObserver() {
                    @Override
                    public ExchangeListener onExchangeStart(ExchangeStart start) {
                        return end -> {
                            throw new IllegalStateException("cannot count");
                        };
                    }
                }));
    }

    private String observed(DispatcherObserver observer) throws Exception {
        log.lines.clear();
        try (Dispatcher observed = dispatcher(builder -> builder.observer(observer))) {
            Worker served = worker(observed, (request, response) -> response.respond(200, "fine"));
            String told = "";
            for (int i = 0; i < 100; i++) {
                told = answer(
                        observed.dispatch(DispatchRequest.get("/").build()).toCompletableFuture());
            }
            served.close();
            return "client: " + told + "; log: " + log.lines.peek();
        }
    }

    private String routed(io.lambdadispatcher.core.spi.RequestRouter router) throws Exception {
        try (Dispatcher routed = dispatcher(builder -> builder.router(router))) {
            return answer(routed.dispatch(DispatchRequest.get("/ok").build()).toCompletableFuture());
        }
    }

    private void handling() {
        handlers.put(
                "/slow",
                (request, response) ->
                        request.body().readAll(1 << 20, body -> response.respond(200, body.length + " bytes")));
        handle(
                "a header name with capital letters",
                (request, response) -> response.respond(head("200").add("X-Name", "1"), Unpooled.EMPTY_BUFFER));
        handle(
                "a header name with a space",
                (request, response) -> response.respond(head("200").add("my header", "1")));
        handle(
                "a header value with a line break",
                (request, response) -> response.respond(head("200").add("x-name", "a\nb")));
        handle(
                "a header value beyond ISO 8859-1",
                (request, response) -> response.respond(head("200").add("x-name", "\u20ac")));
        handle(
                "a pseudo-header of requests in a response",
                (request, response) -> response.respond(head("200").path("/")));
        handle(
                "headers of 300 KB",
                (request, response) -> response.respond(head("200").add("x-name", "a".repeat(300_000))));
        handle("a response without a status", (request, response) -> response.head(new DefaultHttp2Headers(false)));
        handle("status 99", (request, response) -> response.respond(99, ""));
        handle("status 1000", (request, response) -> response.respond(1000, ""));
        handle("an interim response with status 200", (request, response) -> response.interim(head("200")));
        handle("`head` twice", (request, response) -> {
            response.head(200);
            response.head(200);
        });
        handle("`write` before `head`", (request, response) -> response.write(bytes(10)));
        handle("`end` before `head`", (request, response) -> response.end());
        handle("`write` after `end`", (request, response) -> {
            response.respond(200, "all");
            response.write(bytes(10));
        });
        handle("`end` twice", (request, response) -> {
            response.respond(200, "all");
            response.end();
        });
        handle("`fail` after `end`", (request, response) -> {
            response.respond(200, "all");
            response.fail(io.lambdadispatcher.worker.handler.FailureReason.HANDLER_FAILED, "too late");
        });
        handle("`write(null)`", (request, response) -> {
            response.head(200);
            response.write(null);
        });
        handle("`write` of a buffer that has been released", (request, response) -> {
            response.head(200);
            ByteBuf buffer = bytes(2000);
            buffer.release();
            response.write(buffer);
        });
        handle("a buffer that is released after `write`", (request, response) -> {
            response.head(200);
            ByteBuf buffer = bytes(2000);
            response.write(buffer);
            buffer.release();
            response.end();
        });
        handle("a buffer that is released after `respond`", (request, response) -> {
            ByteBuf buffer = bytes(100);
            response.respond(head("200"), buffer);
            buffer.release();
        });
        handle("a buffer that is written to after `write`", (request, response) -> {
            response.head(200);
            ByteBuf buffer = bytes(2000);
            response.write(buffer);
            buffer.clear().writeZero(10);
            response.end();
        });
        handle("a buffer that another thread releases after `write`", (request, response) -> {
            response.head(200);
            Thread other = new Thread(() -> {
                ByteBuf buffer = bytes(2000);
                response.write(buffer);
                buffer.release();
                response.end();
            });
            other.start();
            other.join();
        });
        handle("a body longer than its `content-length`", (request, response) -> {
            response.head(head("200").set("content-length", "5"));
            response.write(bytes(6));
        });
        handle("a body shorter than its `content-length`", (request, response) -> {
            response.head(head("200").set("content-length", "5"));
            response.write(bytes(4));
            response.end();
        });
        handle(
                "`content-length: abc`",
                (request, response) -> response.head(head("200").set("content-length", "abc")));
        handle(
                "two `content-length` headers",
                (request, response) ->
                        response.head(head("200").add("content-length", "5").add("content-length", "6")));
        handle("a body with status 204", (request, response) -> response.respond(204, "text"));
        handling.put(
                "a response body for a HEAD request",
                () -> handled("HEAD", (request, response) -> response.respond(200, "text"), null));
        handle("a trailer `:status`", (request, response) -> {
            response.head(200);
            response.end(head("200"));
        });
        handle("a trailer name with a space", (request, response) -> {
            response.head(200);
            response.end(new DefaultHttp2Headers(false).add("my trailer", "1"));
        });
        handle("a handler that throws", (request, response) -> {
            throw new IOException("password=secret");
        });
        handle("a handler with endless recursion", MisuseIT::recurse);
        handle("a handler that never answers", (request, response) -> {});
        handle(
                "a handler that throws in `onCancel`",
                (request, response) -> request.onCancel(code -> {
                    throw new IllegalStateException("cannot clean up");
                }));
        handling.put(
                "a body reader that throws",
                () -> handled(
                        "POST",
                        (request, response) -> request.body().read(new BodyReader() {
                            @Override
                            public void onData(ByteBuf buffer) {
                                buffer.release();
                                throw new IllegalStateException("cannot take it");
                            }

                            @Override
                            public void onEnd(Http2Headers trailers) {}

                            @Override
                            public void onFailed(io.lambdadispatcher.worker.handler.FailureReason code) {}
                        }),
                        new byte[10]));
        handle("`body().read` on another thread", (request, response) -> {
            CompletableFuture<String> told = new CompletableFuture<>();
            new Thread(() -> told.complete(atCall(() -> {
                        request.body().readAll(10, body -> {});
                        return "";
                    })))
                    .start();
            response.respond(200, told.get().replaceAll("Thread\\[.*?\\]", "Thread[...]"));
        });
        handle("`body().read` twice", (request, response) -> {
            request.body().readAll(10, body -> {});
            request.body().readAll(10, body -> response.respond(200, ""));
        });
        handling.put(
                "`readAll` on a body above its limit",
                () -> handled(
                        "POST",
                        (request, response) -> request.body().readAll(9, body -> response.respond(200, "")),
                        new byte[10]));
        handle("`readAll(-1, ...)`", (request, response) -> request.body().readAll(-1, body -> {}));
        handle(
                "a `readAll` callback that throws",
                (request, response) -> request.body().readAll(10, body -> {
                    throw new IllegalStateException("not JSON");
                }));
        blocking("a blocking handler that does nothing", (request, response) -> {});
        blocking("a blocking handler that throws", (request, response) -> {
            throw new IOException("no disk");
        });
        blocking("`status(42)` in a blocking handler", (request, response) -> response.status(42));
        blocking("`header` after the first bytes of the body, in a blocking handler", (request, response) -> {
            response.body().write(1);
            response.body().flush();
            response.header("late", "1");
        });
        blocking("a body shorter than its `content-length`, in a blocking handler", (request, response) -> {
            response.header("content-length", "10");
            response.body().write(1);
        });
        blocking("`content-length: abc` with a long body, in a blocking handler", (request, response) -> {
            response.header("content-length", "abc");
            response.body().write(new byte[100_000]);
        });
        blocking(
                "a header name with a space, in a blocking handler",
                (request, response) -> response.header("my header", "1"));
    }

    private static void recurse(io.lambdadispatcher.worker.handler.Request request, Response response) {
        recurse(request, response);
    }

    private void working() {
        working.put("`new Worker(null, handler)`", () -> atCall(() -> new Worker(null, handlers.get("/ok"))));
        working.put(
                "`new Worker(config, null)`",
                () -> atCall(() -> new Worker(config(own()).build(), null)));
        working.put(
                "no dispatcher address",
                () -> atCall(() -> WorkerConfig.builder("f", new Credential.Secret(SECRET), List.of())
                        .build()));
        working.put("`streams(0)`", () -> atCall(() -> config(own()).streams(0).build()));
        working.put("`start` twice", () -> {
            try (Worker twice = worker(own(), handlers.get("/ok"), "twice")) {
                return atCall(twice::start);
            }
        });
        working.put("`start` after the worker has exited", () -> {
            Worker ended = new Worker(config(own()).build(), handlers.get("/ok"));
            ended.close();
            return atCall(ended::start);
        });
        working.put("`ready` after the worker has exited", () -> {
            Worker ended = worker(own(), handlers.get("/ok"), "ended");
            ended.close();
            return told(ended.ready()
                    .toCompletableFuture()
                    .handle((ready, error) -> error)
                    .get(WAIT_SECONDS, TimeUnit.SECONDS));
        });
        working.put(
                "a wrong secret",
                () -> reason(WorkerConfig.builder(
                        "f", new Credential.Secret("another secret of 16 bytes"), List.of(own().workerAddress()))));
        working.put(
                "a function that does not exist",
                () -> reason(
                        WorkerConfig.builder("typo", new Credential.Secret(SECRET), List.of(own().workerAddress()))));
        working.put("a public port instead of the worker port", () -> {
            try (Dispatcher open = dispatcher(builder -> builder.publicListener(ANY_PORT))) {
                InetSocketAddress address = open.publicAddresses().get(0);
                return reason(WorkerConfig.builder("f", new Credential.Secret(SECRET), List.of(address)))
                        .replace(Integer.toString(address.getPort()), "8080");
            }
        });
        working.put("a host that does not exist", () -> {
            log.lines.clear();
            String reason = reason(WorkerConfig.builder(
                            "f",
                            new Credential.Secret(SECRET),
                            List.of(InetSocketAddress.createUnresolved("no-such-host.invalid", 9000)))
                    .loneTimeout(Duration.ofSeconds(1)));
            return reason + "; log: " + log.lines.peek();
        });
    }

    private static Worker worker(Dispatcher to, @Nullable Handler handler, String id) {
        WorkerConfig config = WorkerConfig.builder("f", new Credential.Secret(SECRET), List.of(to.workerAddress()))
                .workerId(id)
                .build();
        Worker started = new Worker(config, handler == null ? (request, response) -> {} : handler).start();
        started.ready()
                .toCompletableFuture()
                .orTimeout(WAIT_SECONDS, TimeUnit.SECONDS)
                .join();
        return started;
    }

    private static String reason(WorkerConfig.Builder config) throws Exception {
        Worker failing = new Worker(config.build(), (request, response) -> {}).start();
        return "the worker exits: "
                + failing.done()
                        .toCompletableFuture()
                        .get(WAIT_SECONDS, TimeUnit.SECONDS)
                        .reason();
    }

    /** Launches nothing, and cannot be closed. */
    private static final class NoLauncher implements WorkerLauncher {
        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            throw new UnsupportedOperationException("launches nothing");
        }

        @Override
        public void close(Duration grace) {
            throw new IllegalStateException("cannot close");
        }

        @Override
        public String toString() {
            return "NoLauncher";
        }
    }

    private static Flow.Publisher<ByteBuf> publisher(Consumer<Flow.Subscriber<? super ByteBuf>> onRequest) {
        return subscriber -> subscriber.onSubscribe(new Flow.Subscription() {
            private boolean asked;

            @Override
            public void request(long n) {
                if (!asked) {
                    asked = true;
                    onRequest.accept(subscriber);
                }
            }

            @Override
            public void cancel() {}
        });
    }

    private static class Collecting implements Flow.Subscriber<ByteBuf> {
        final CompletableFuture<String> end = new CompletableFuture<>();
        private final long demand;

        Collecting(long demand) {
            this.demand = demand;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(demand);
        }

        @Override
        public void onNext(ByteBuf item) {
            item.release();
        }

        @Override
        public void onError(Throwable error) {
            end.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
            end.complete("complete");
        }
    }

    @Test
    void should_tell_of_each_wrong_use() throws Exception {
        building();
        requesting();
        handling();
        working();
        StringBuilder text = new StringBuilder("""
                # Errors for wrong uses of the API

                This page is for developers whose program embeds the dispatcher or runs a worker. It shows the error that each mistake causes.

                - None of these mistakes makes a call hang or affects concurrent requests.
                - Exceptions appear with their simple class names.
                - If a handler throws an exception, the worker's log has it. The client gets a general error, or the mistake if the response is
                  malformed (`BAD_RESPONSE`).
                - `client:` stands before the response or exception that the sender of the request gets. `log:` stands before a line of the log.
                """);
        table(text, "Start and close a dispatcher", building);
        table(text, "Send requests with `dispatch`", requesting);
        table(text, "Write handlers", handling);
        table(text, "Start workers", working);
        Path page = Path.of("").toAbsolutePath().getParent().resolve("docs/reference/wrong-uses.md");
        if (Boolean.getBoolean("docs.update")) {
            Files.writeString(page, text);
        }
        assertThat(Files.readString(page))
                .as("%s; -Ddocs.update=true writes it again", page)
                .isEqualTo(text.toString());
    }

    private static void table(StringBuilder text, String title, Map<String, Use> uses) throws Exception {
        text.append("\n## ").append(title).append("\n\n| wrong use | result |\n| --- | --- |\n");
        for (Map.Entry<String, Use> use : uses.entrySet()) {
            String told;
            try {
                told = use.getValue().run();
            } catch (Exception | AssertionError e) {
                throw new AssertionError(use.getKey(), e);
            }
            assertThat(told).as(use.getKey()).isNotEmpty();
            text.append("| ")
                    .append(use.getKey())
                    .append(" | ")
                    .append(masked(told))
                    .append(" |\n");
        }
    }

    /** Replaces parts that differ between runs. */
    private static String masked(String told) {
        return told.replaceAll("Thread\\[[^\\]]*\\]", "Thread[...]")
                .replaceAll("stream \\d+", "stream N")
                .replaceAll("@[0-9a-f]{5,}", "")
                // The dispatcher and the worker have the same deadline, and either can be first.
                .replace(
                        "the handler timed out: the request's deadline has passed",
                        "no complete response within 2000 ms")
                .replaceAll("\\$\\$Lambda\\S*", "")
                .replace("|", "\\|")
                .replace("\n", " ");
    }
}
