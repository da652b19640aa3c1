package io.lambdadispatcher.it;

import static io.lambdadispatcher.it.MisuseRig.ANY_PORT;
import static io.lambdadispatcher.it.MisuseRig.SECRET;
import static io.lambdadispatcher.it.MisuseRig.await;
import static io.lambdadispatcher.it.MisuseRig.bytes;
import static io.lambdadispatcher.it.MisuseRig.config;
import static io.lambdadispatcher.it.MisuseRig.dispatcher;
import static io.lambdadispatcher.it.MisuseRig.fail;
import static io.lambdadispatcher.it.MisuseRig.failure;
import static io.lambdadispatcher.it.MisuseRig.thrown;
import static io.lambdadispatcher.it.MisuseRig.worker;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

/** Wrong uses of a worker, and of the requests and responses of its handlers. */
final class MisusedWorker {
    private static final String WRITE_HANDLERS = "Write handlers";
    private static final Handler HANDLER = (request, response) -> response.respond(200, "fine");

    private static final List<Misuse> HEADS = List.of(
            calls(
                    "a header name with capital letters",
                    to -> to.respond(head("200").add("X-Name", "1"), Unpooled.EMPTY_BUFFER)),
            respond("a header name with a space", head("200").add("my header", "1")),
            respond("a header value with a line break", head("200").add("x-name", "a\nb")),
            respond("a pseudo-header of requests in a response", head("200").path("/")),
            respond("headers of 300 KB", head("200").add("x-name", "a".repeat(300_000))),
            calls("a response without a status", to -> to.head(new DefaultHttp2Headers(false))),
            calls("status 99", to -> to.respond(99, "")),
            calls("status 1000", to -> to.respond(1000, "")),
            calls("an interim response with status 200", to -> to.interim(head("200"))));

    private static final List<Misuse> ORDER = List.of(
            calls("`head` twice", to -> to.head(200), to -> to.head(200)),
            calls("`write` before `head`", to -> to.write(bytes(10))),
            calls("`end` before `head`", Response::end),
            calls("`write` after `end`", to -> to.respond(200, "all"), to -> to.write(bytes(10))),
            calls("`end` twice", to -> to.respond(200, "all"), Response::end),
            calls(
                    "`fail` after `end`",
                    to -> to.respond(200, "all"),
                    to -> to.fail(FailureReason.HANDLER_FAILED, "too late")));

    private static final List<Misuse> BUFFERS = List.of(
            calls("`write(null)`", to -> to.head(200), to -> to.write(null)),
            handle("`write` of a buffer that has been released", (request, response) -> {
                response.head(200);
                ByteBuf buffer = bytes(2000);
                buffer.release();
                response.write(buffer);
            }),
            handle("a buffer that is released after `write`", (request, response) -> {
                response.head(200);
                ByteBuf buffer = bytes(2000);
                response.write(buffer);
                buffer.release();
                response.end();
            }),
            handle("a buffer that is released after `respond`", (request, response) -> {
                ByteBuf buffer = bytes(100);
                response.respond(head("200"), buffer);
                buffer.release();
            }),
            handle("a buffer that is written to after `write`", (request, response) -> {
                response.head(200);
                ByteBuf buffer = bytes(2000);
                response.write(buffer);
                buffer.clear().writeZero(10);
                response.end();
            }),
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
            }));

    private static final List<Misuse> BODIES = List.of(
            calls(
                    "a body longer than its `content-length`",
                    to -> to.head(head("200").set("content-length", "5")),
                    to -> to.write(bytes(6))),
            calls(
                    "a body shorter than its `content-length`",
                    to -> to.head(head("200").set("content-length", "5")),
                    to -> to.write(bytes(4)),
                    Response::end),
            calls("`content-length: abc`", to -> to.head(head("200").set("content-length", "abc"))),
            calls(
                    "two `content-length` headers",
                    to -> to.head(head("200").add("content-length", "5").add("content-length", "6"))),
            calls("a body with status 204", to -> to.respond(204, "text")),
            handle(
                    "a response body for a HEAD request",
                    DispatchRequest.builder("HEAD", "/wrong"),
                    (request, response) -> response.respond(200, "text")),
            calls("a trailer `:status`", to -> to.head(200), to -> to.end(head("200"))),
            calls(
                    "a trailer name with a space",
                    to -> to.head(200),
                    to -> to.end(new DefaultHttp2Headers(false).add("my trailer", "1"))));

    private static final List<Misuse> FAILURES = List.of(
            handle("a handler that throws", (request, response) -> {
                throw new IOException("password=secret");
            }),
            handle("a handler with endless recursion", MisusedWorker::recurse),
            late("a handler that never answers", 1, (request, response) -> {}),
            late(
                    "a handler that throws in `onCancel`",
                    2,
                    (request, response) -> request.onCancel(code -> fail("cannot clean up"))));

    private static final List<Misuse> READERS = List.of(
            handle(
                    "a body reader that throws",
                    tenBytes(),
                    (request, response) -> request.body().read(new FailingReader())),
            handle("`body().read` on another thread", (request, response) -> {
                CompletableFuture<String> told = new CompletableFuture<>();
                Callable<?> read = Executors.callable(() -> request.body().readAll(10, body -> {}));
                new Thread(() -> told.complete(thrown(read))).start();
                response.respond(200, told.get());
            }),
            handle("`body().read` twice", (request, response) -> {
                request.body().readAll(10, body -> {});
                request.body().readAll(10, body -> response.respond(200, ""));
            }),
            handle(
                    "`readAll` on a body above its limit",
                    tenBytes(),
                    (request, response) -> request.body().readAll(9, body -> response.respond(200, ""))),
            handle("`readAll(-1, ...)`", (request, response) -> request.body().readAll(-1, body -> {})),
            handle(
                    "a `readAll` callback that throws",
                    (request, response) -> request.body().readAll(10, body -> fail("not JSON"))));

    private static final List<Misuse> BLOCKING = List.of(
            block("a blocking handler that does nothing", (request, response) -> {}),
            block("a blocking handler that throws", (request, response) -> {
                throw new IOException("no disk");
            }),
            block("`status(42)` in a blocking handler", (request, response) -> response.status(42)),
            block("`header` after the first bytes of the body, in a blocking handler", (request, response) -> {
                response.body().write(1);
                response.body().flush();
                response.header("late", "1");
            }),
            block("a body shorter than its `content-length`, in a blocking handler", (request, response) -> {
                response.header("content-length", "10");
                response.body().write(1);
            }),
            block("`content-length: abc` with a long body, in a blocking handler", (request, response) -> {
                response.header("content-length", "abc");
                response.body().write(new byte[100_000]);
            }),
            block(
                    "a header name with a space, in a blocking handler",
                    (request, response) -> response.header("my header", "1")));

    private static final List<Misuse> WORKERS = List.of(
            start("`new Worker(null, handler)`", rig -> thrown(() -> new Worker(null, HANDLER))),
            start("`new Worker(config, null)`", rig -> thrown(() -> new Worker(own(rig).build(), null))),
            start(
                    "no dispatcher address",
                    rig -> thrown(() -> config("f", SECRET).build())),
            start("`streams(0)`", rig -> thrown(() -> own(rig).streams(0).build())),
            start("`start` twice", rig -> {
                try (Worker twice = worker(rig.dispatcher, HANDLER)) {
                    return thrown(twice::start);
                }
            }),
            start("`start` after the worker has exited", rig -> {
                Worker ended = new Worker(own(rig).build(), HANDLER);
                ended.close();
                return thrown(ended::start);
            }),
            start("two workers with one `WorkerConfig` that has a worker id", rig -> {
                WorkerConfig named = own(rig).workerId("one").build();
                try (Worker first = new Worker(named, HANDLER).start();
                        Worker second = new Worker(named, HANDLER)) {
                    return thrown(second::start);
                }
            }),
            start("no call of `start`", rig -> {
                try (Worker forgotten =
                        new Worker(own(rig).workerId("forgotten").build(), HANDLER)) {
                    return "log: " + MisusedDispatcher.logged(rig, "worker forgotten");
                }
            }),
            start("`ready` after the worker has exited", rig -> {
                Worker ended = worker(rig.dispatcher, HANDLER);
                ended.close();
                return failure(ended.ready());
            }));

    private static final List<Misuse> CONNECTIONS = List.of(
            start(
                    "a wrong secret",
                    rig -> exit(config("f", "another secret of 16 bytes", rig.dispatcher.workerAddress()))),
            start(
                    "a function that does not exist",
                    rig -> exit(config("typo", SECRET, rig.dispatcher.workerAddress()))),
            start("a public port instead of the worker port", rig -> {
                try (Dispatcher open = dispatcher(with -> with.publicListener(ANY_PORT))) {
                    InetSocketAddress address = open.publicAddresses().get(0);
                    return exit(config("f", SECRET, address)).replace(Integer.toString(address.getPort()), "8080");
                }
            }),
            start("a host that does not exist", rig -> {
                InetSocketAddress unknown = InetSocketAddress.createUnresolved("no-such-host.invalid", 9000);
                String told = exit(config("f", SECRET, unknown).loneTimeout(Duration.ofSeconds(1)));
                return told + "; log: " + rig.logged.peek();
            }));

    private MisusedWorker() {}

    static Stream<Misuse> handlers() {
        return Stream.of(HEADS, ORDER, BUFFERS, BODIES, FAILURES, READERS, BLOCKING)
                .flatMap(List::stream);
    }

    static Stream<Misuse> starts() {
        return Stream.of(WORKERS, CONNECTIONS).flatMap(List::stream);
    }

    private static Misuse handle(String name, DispatchRequest.Builder request, Handler wrong) {
        return new Misuse(WRITE_HANDLERS, name, rig -> rig.handled(request, wrong, 0));
    }

    /** The worker's deadline may be a little later than the dispatcher's. */
    private static Misuse late(String name, int lines, Handler wrong) {
        return new Misuse(WRITE_HANDLERS, name, rig -> rig.handled(DispatchRequest.post("/wrong"), wrong, lines));
    }

    private static Misuse handle(String name, Handler wrong) {
        return handle(name, DispatchRequest.post("/wrong"), wrong);
    }

    private static DispatchRequest.Builder tenBytes() {
        return DispatchRequest.post("/wrong").body(new byte[10]);
    }

    /** A call of a method of a response. */
    private interface Call {
        void of(Response to);
    }

    private static Misuse calls(String name, Call... wrong) {
        return handle(name, (request, response) -> List.of(wrong).forEach(call -> call.of(response)));
    }

    private static Misuse respond(String name, Http2Headers wrong) {
        return handle(name, (request, response) -> response.respond(wrong));
    }

    private static Misuse block(String name, BlockingHandler wrong) {
        return new Misuse(
                WRITE_HANDLERS, name, rig -> rig.handled(DispatchRequest.post("/wrong"), wrong.asHandler(), 1));
    }

    private static Http2Headers head(String status) {
        return new DefaultHttp2Headers(false).status(status);
    }

    private static void recurse(Request request, Response response) {
        recurse(request, response);
    }

    private static Misuse start(String name, Misuse.Code code) {
        return new Misuse("Start workers", name, code);
    }

    private static WorkerConfig.Builder own(MisuseRig rig) {
        return config("f", SECRET, rig.dispatcher.workerAddress());
    }

    private static String exit(WorkerConfig.Builder config) throws Exception {
        Worker failing = new Worker(config.build(), HANDLER).start();
        return "the worker exits: " + await(failing.done()).reason();
    }

    private static final class FailingReader implements BodyReader {
        @Override
        public void onData(ByteBuf buffer) {
            buffer.release();
            fail("cannot take it");
        }

        @Override
        public void onEnd(Http2Headers trailers) {}

        @Override
        public void onFailed(FailureReason code) {}
    }
}
