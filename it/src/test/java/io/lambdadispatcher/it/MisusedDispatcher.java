package io.lambdadispatcher.it;

import static io.lambdadispatcher.core.options.ListenerOptions.plain;
import static io.lambdadispatcher.core.request.DispatchRequest.builder;
import static io.lambdadispatcher.core.request.DispatchRequest.get;
import static io.lambdadispatcher.core.request.DispatchRequest.post;
import static io.lambdadispatcher.it.MisuseRig.ANY_PORT;
import static io.lambdadispatcher.it.MisuseRig.answer;
import static io.lambdadispatcher.it.MisuseRig.await;
import static io.lambdadispatcher.it.MisuseRig.bytes;
import static io.lambdadispatcher.it.MisuseRig.dispatcher;
import static io.lambdadispatcher.it.MisuseRig.fail;
import static io.lambdadispatcher.it.MisuseRig.failure;
import static io.lambdadispatcher.it.MisuseRig.thrown;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.PoolSnapshot;
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
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Wrong uses of a dispatcher, and of the requests and responses of an embedding program. */
final class MisusedDispatcher {
    private static final List<Misuse> BUILDERS = List.of(
            call("no function", Dispatcher.builder().workerListener(ANY_PORT)::start),
            build("two functions with the same name", with -> with.function(FunctionOptions.of("f"))),
            call("no worker listener", Dispatcher.builder().function(FunctionOptions.of("f"))::start),
            build("`function(null)`", with -> with.function(null)),
            build("`workerListener(null)`", with -> with.workerListener(null)),
            build("`observer(null)`", with -> with.observer(null)),
            build("`errorRenderer(null)`", with -> with.errorRenderer(null)),
            build("`router(null)`", with -> with.router(null)),
            build("`launcher(null)`", with -> with.launcher(null)),
            build("a launcher for a function that does not exist", with -> with.launcher("typo", new NoLauncher())),
            build(
                    "`CapacityPolicy.fixed(2)` without a launcher",
                    with -> with.function(FunctionOptions.builder("g")
                            .capacity(CapacityPolicy.fixed(2))
                            .build())),
            build(
                    "a function in direct mode without an invoker",
                    with -> with.direct(
                            "f",
                            DirectOptions.builder(DirectEventFormat.values()[0]).build())),
            build("a short secret", with -> with.secret(new byte[15])),
            build("a secret for a function that does not exist", with -> with.secret("typo", new byte[16])),
            build("`eventLoops(0)`", with -> with.eventLoops(0)),
            build("`liveness(0, 0)`", with -> with.liveness(Duration.ZERO, Duration.ZERO)));

    private static final List<Misuse> LISTENERS = List.of(
            start("a port that is in use", rig -> {
                InetSocketAddress used = rig.dispatcher.workerAddress();
                return thrown(() -> dispatcher(with -> with.publicListener(plain(used))))
                        .replace(Integer.toString(used.getPort()), "8080");
            }),
            build("port 70,000", with -> with.publicListener(plain("127.0.0.1", 70_000))),
            build("a host that does not exist", with -> with.publicListener(plain("no-such-host.invalid", 0))),
            build(
                    "a certificate that does not exist",
                    with -> with.publicListener(ListenerOptions.tls(
                            "127.0.0.1", 0, TlsOptions.of(Path.of("/no/cert.pem"), Path.of("/no/key.pem"))))));

    private static final List<Misuse> OPTIONS = List.of(
            call("`CapacityPolicy.between(3, 2)`", () -> CapacityPolicy.between(3, 2)),
            call(
                    "`requestIdHeader` with capital letters",
                    () -> ForwardingPolicy.builder()
                            .requestIdHeader("X-Request-Id")
                            .build()),
            call("a function without a name", () -> FunctionOptions.of("")),
            function("`streamsPerConnection(2000)`", with -> with.streamsPerConnection(2000)),
            function("a negative worker timeout", with -> with.workerTimeout(Duration.ofSeconds(-1))),
            call(
                    "`HttpLimits` with a timeout of zero",
                    () -> HttpLimits.builder().idleTimeout(Duration.ZERO).build()));

    private static final List<Misuse> CALLS = List.of(
            start(
                    "`setLaunching` for a function without a launcher",
                    rig -> thrown(Executors.callable(() -> rig.dispatcher.setLaunching("f", false)))),
            start("`close(null)`", rig -> thrown(() -> rig.dispatcher.close(null))),
            start("`close` with a negative grace", rig -> thrown(() -> rig.dispatcher.close(Duration.ofSeconds(-1)))),
            start(
                    "`close` with a grace of a thousand years",
                    rig -> thrown(() -> rig.dispatcher.close(Duration.ofDays(365_000)))),
            start("a launcher whose `close` throws", rig -> {
                dispatcher(with -> with.launcher(new NoLauncher())).close();
                return "close() completes; log: " + String.join("; ", rig.logged);
            }),
            start("no secret for a function whose workers are not launched", rig -> {
                Dispatcher.builder()
                        .function(FunctionOptions.of("f"))
                        .workerListener(ANY_PORT)
                        .eventLoops(1)
                        .start()
                        .close();
                return "log: " + String.join("; ", rig.logged);
            }));

    private static final List<Misuse> LAUNCHERS = List.of(
            launch("a launcher that throws", request -> fail("no image")),
            launch("a launcher that returns `null`", request -> null),
            launch("a launcher whose `exit()` returns `null`", request -> worker(null)),
            launch(
                    "a launcher whose `exit()` completes with `null`",
                    request -> worker(CompletableFuture.completedFuture(null))),
            launch(
                    "a launcher whose `exit()` fails",
                    request -> worker(CompletableFuture.failedFuture(new IllegalStateException("no process")))));

    private static final List<Misuse> HEADS = List.of(
            request("a path without `/`", () -> get("ok")),
            request("a path with a space", () -> get("/a b")),
            request("a method with a space", () -> builder("GE T", "/ok")),
            request("the method CONNECT", () -> builder("CONNECT", "/ok")),
            request("an authority with a path", () -> get("/ok").authority("host/path")),
            request("an authority of more than 300 characters", () -> get("/ok").authority("a".repeat(301))),
            request("an unknown scheme", () -> get("/ok").scheme("ftp")),
            request("a header name with a space", () -> get("/ok").header("my header", "1")),
            request("a pseudo-header", () -> get("/ok").header(":path", "/other")),
            request("a header value with a line break", () -> get("/ok").header("x", "a\nb")),
            request(
                    "a `host` header that differs from the authority",
                    () -> get("/ok").header("host", "other")),
            request("a header name with capital letters", () -> get("/ok").header("X-Name", "1")),
            dispatch("`dispatch(null)`", rig -> rig.beside(() -> rig.dispatcher.dispatch(null))));

    private static final List<Misuse> BODIES = List.of(
            request("a body longer than its `content-length`", () -> fourBytes().header("content-length", "3")),
            request(
                    "a body shorter than its `content-length`",
                    () -> fourBytes().header("content-length", "5")),
            request(
                    "a released buffer in the request body",
                    () -> post("/slow").body(publisher(to -> {
                        ByteBuf buffer = bytes(2000);
                        buffer.release();
                        to.onNext(buffer);
                        to.onComplete();
                    }))),
            dispatch("a buffer of the request body that is released after `onNext`", rig -> {
                String told = rig.beside(() -> rig.send(post("/slow").body(publisher(to -> {
                    ByteBuf buffer = bytes(2000);
                    to.onNext(buffer);
                    buffer.release();
                    to.onComplete();
                }))));
                return told + "; log: " + String.join("; ", rig.logged);
            }),
            request(
                    "a publisher that throws in `subscribe`",
                    () -> post("/slow").body(subscriber -> fail("no data"))),
            request("a publisher that throws in `request`", () -> post("/slow").body(publisher(to -> fail("no data")))),
            dispatch(
                    "a large buffer that is released while its request is queued",
                    rig -> alone(with -> with, post("/ok").body(publisher(to -> {
                        ByteBuf buffer = bytes(20_000);
                        to.onNext(buffer);
                        buffer.release();
                    })))),
            request(
                    "trailers from a failed `CompletionStage`",
                    () -> fourBytes().trailers(CompletableFuture.failedFuture(new IllegalStateException("no sum")))));

    private static final List<Misuse> RESPONSES = List.of(
            dispatch("a subscriber that throws in `onNext`", rig -> {
                rig.beside(() -> {
                    rig.send(post("/ok")).thenAccept(response -> response.body().subscribe(new FailingSubscriber(1)));
                    return rig.send(post("/ok"));
                });
                return "log: " + String.join("; ", rig.logged);
            }),
            dispatch("`request(0)` by a subscriber", rig -> {
                FailingSubscriber subscriber = new FailingSubscriber(0);
                rig.send(post("/ok")).thenAccept(response -> response.body().subscribe(subscriber));
                return failure(subscriber.end);
            }),
            dispatch("`request(0)` by a subscriber, after the whole response has arrived", rig -> {
                DispatchResponse response = await(rig.send(post("/ok")));
                Await.until("the whole response has arrived", () -> {
                    PoolSnapshot pool = rig.dispatcher.pools().get(0);
                    return pool.free() == pool.streams();
                });
                FailingSubscriber subscriber = new FailingSubscriber(0);
                response.body().subscribe(subscriber);
                return failure(subscriber.end);
            }),
            dispatch("a response body that is read twice", rig -> {
                DispatchResponse response = await(rig.send(post("/ok")));
                response.bodyAsBytes();
                return failure(response.bodyAsString());
            }),
            dispatch(
                    "`bodyAsBytes` on a body above its limit",
                    rig -> failure(await(rig.send(post("/ok"))).bodyAsBytes(3))),
            dispatch("`bodyAsBytes(-1)`", rig -> {
                DispatchResponse response = await(rig.send(post("/ok")));
                String told = thrown(() -> response.bodyAsBytes(-1));
                response.discard();
                return told;
            }),
            dispatch("a response body that nobody reads", rig -> {
                DispatchResponse response = await(rig.send(post("/long")));
                Await.until("the handler's request is cancelled", () -> !rig.logged.isEmpty());
                return failure(response.bodyAsString()) + "; log: " + rig.logged.peek();
            }));

    private static final List<Misuse> STATES = List.of(
            dispatch("a request while no worker is connected", rig -> {
                try (Dispatcher alone = dispatcher(with -> with)) {
                    return "isReady() is " + alone.isReady() + "; "
                            + answer(alone.dispatch(get("/ok").build())) + "; log: " + rig.logged.peek();
                }
            }),
            dispatch("a request after `close`", rig -> {
                Dispatcher closed = dispatcher(with -> with);
                closed.close();
                return answer(closed.dispatch(get("/ok").build()));
            }),
            dispatch("a router that throws", rig -> alone(with -> with.router(head -> fail("no route")), get("/ok"))),
            dispatch(
                    "a router that names an unknown function",
                    rig -> alone(with -> with.router(head -> RouteTarget.of("typo")), get("/ok"))),
            observer("an observer that throws at the start", start -> fail("cannot begin")),
            observer("an observer that throws at the end", start -> end -> fail("cannot count")));

    private static final List<Misuse> WAITS = List.of(
            dispatch(
                    "`join()` in a callback",
                    rig -> inCallback(rig, () -> {
                        CompletableFuture<DispatchResponse> response =
                                rig.send(post("/ok")).toCompletableFuture();
                        try {
                            return response.join();
                        } finally {
                            response.cancel(false);
                        }
                    })),
            dispatch(
                    "`send` in a callback",
                    rig -> inCallback(rig, () -> rig.dispatcher.send(post("/ok").build()))),
            dispatch("a callback that blocks in another way", rig -> {
                CountDownLatch blocked = new CountDownLatch(1);
                CompletionStage<String> released = callback(rig, () -> waitFor(blocked));
                String line;
                try {
                    line = logged(rig, "event loop");
                } finally {
                    blocked.countDown();
                }
                await(released);
                return "log: "
                        + line.replaceAll("\\d+ ms", "N ms")
                                .replaceAll("loop \\S+", "loop N")
                                .replaceAll(":\\d+\\).*", ":N)");
            }));

    private MisusedDispatcher() {}

    private static String waitFor(CountDownLatch blocked) {
        try {
            return "released: " + blocked.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns a line of the log that another thread writes. */
    static String logged(MisuseRig rig, String start) {
        Await.until("a line of the log", () -> rig.logged.stream().anyMatch(line -> line.startsWith(start)));
        return rig.logged.stream()
                .filter(line -> line.startsWith(start))
                .findFirst()
                .orElseThrow();
    }

    private static String inCallback(MisuseRig rig, Callable<?> wrong) throws Exception {
        return await(callback(rig, () -> thrown(wrong)));
    }

    /** Runs code on the event loop: the response cannot arrive before the request's body ends. */
    private static CompletionStage<String> callback(MisuseRig rig, Supplier<String> code) throws Exception {
        CompletableFuture<Flow.Subscriber<? super ByteBuf>> body = new CompletableFuture<>();
        CompletionStage<String> result = rig.send(post("/slow").body(publisher(body::complete)))
                .thenCompose(DispatchResponse::bodyAsString)
                .thenApply(text -> code.get());
        await(body).onComplete();
        return result;
    }

    private static Misuse launch(
            String name, Function<WorkerLauncher.LaunchRequest, WorkerLauncher.LaunchedWorker> wrong) {
        return start(name, rig -> {
            WorkerLauncher launcher = new WorkerLauncher() {
                @Override
                public LaunchedWorker launch(LaunchRequest request) {
                    return wrong.apply(request);
                }

                @Override
                public void close(Duration grace) {}
            };
            FunctionOptions function = FunctionOptions.builder("g")
                    .capacity(CapacityPolicy.fixed(1))
                    .build();
            try (Dispatcher failing = dispatcher(with -> with.function(function).launcher("g", launcher))) {
                Await.until("a reason", () -> failing.capacity().get(0).blockedReason() != null);
                return "the reason on the live page: "
                        + failing.capacity().get(0).blockedReason().replaceFirst(".*last failure", "last failure");
            }
        });
    }

    private static WorkerLauncher.LaunchedWorker worker(CompletionStage<WorkerLauncher.WorkerExit> exit) {
        return new WorkerLauncher.LaunchedWorker() {
            @Override
            public CompletionStage<WorkerLauncher.WorkerExit> exit() {
                return exit;
            }

            @Override
            public void kill() {}
        };
    }

    static Stream<Misuse> starts() {
        return Stream.of(BUILDERS, LISTENERS, OPTIONS, CALLS, LAUNCHERS).flatMap(List::stream);
    }

    static Stream<Misuse> requests() {
        return Stream.of(HEADS, BODIES, RESPONSES, STATES, WAITS).flatMap(List::stream);
    }

    private static Misuse start(String name, Misuse.Code code) {
        return new Misuse("Start and close a dispatcher", name, code);
    }

    private static Misuse call(String name, Callable<?> wrong) {
        return start(name, rig -> thrown(wrong));
    }

    private static Misuse build(String name, UnaryOperator<DispatcherBuilder> wrong) {
        return call(name, () -> dispatcher(wrong));
    }

    private static Misuse function(String name, UnaryOperator<FunctionOptions.Builder> wrong) {
        return call(name, () -> wrong.apply(FunctionOptions.builder("f")).build());
    }

    private static Misuse dispatch(String name, Misuse.Code code) {
        return new Misuse("Send requests with `dispatch`", name, code);
    }

    private static Misuse request(String name, Supplier<DispatchRequest.Builder> wrong) {
        return dispatch(name, rig -> rig.beside(() -> rig.send(wrong.get())));
    }

    private static Misuse observer(String name, Function<ExchangeStart, ExchangeListener> wrong) {
        DispatcherObserver observer = new DispatcherObserver() {
            @Override
            public ExchangeListener onExchangeStart(ExchangeStart start) {
                return wrong.apply(start);
            }
        };
        return dispatch(name, rig -> {
            try (Dispatcher observed = dispatcher(with -> with.observer(observer))) {
                Worker served = MisuseRig.worker(observed, (request, response) -> response.respond(200, "fine"));
                String told = "";
                for (int i = 0; i < 100; i++) {
                    told = answer(observed.dispatch(get("/").build()));
                }
                served.close();
                // The compiler chooses the number of an anonymous class.
                String line = rig.logged
                        .element()
                        .replace(observer.getClass().getName(), "io.lambdadispatcher.it.MisuseIT$2");
                return "client: " + told + "; log: " + line;
            }
        });
    }

    /** Returns the answer of a dispatcher without workers. */
    private static String alone(UnaryOperator<DispatcherBuilder> change, DispatchRequest.Builder request)
            throws Exception {
        try (Dispatcher alone = dispatcher(change)) {
            return answer(alone.dispatch(request.build()));
        }
    }

    private static DispatchRequest.Builder fourBytes() {
        return post("/ok").body(publisher(to -> {
            to.onNext(bytes(4));
            to.onComplete();
        }));
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

    private static final class FailingSubscriber implements Flow.Subscriber<ByteBuf> {
        final CompletableFuture<String> end = new CompletableFuture<>();
        private final long demand;

        FailingSubscriber(long demand) {
            this.demand = demand;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(demand);
        }

        @Override
        public void onNext(ByteBuf item) {
            item.release();
            fail("cannot take it");
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
}
