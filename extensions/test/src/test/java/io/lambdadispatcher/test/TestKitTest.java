package io.lambdadispatcher.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("each-release")
@Timeout(120)
class TestKitTest {
    /** That of {@link TestDispatcher}. */
    private static final String SECRET = "a secret for tests only";

    @Test
    void should_answer_as_scripted() {
        ScriptedHandler script = new ScriptedHandler()
                .respond("/ok", 201, "made")
                .respondAfter(Duration.ofMillis(20), "/late", 200, "late")
                .fail("/fail")
                .breakOff("/break", "some")
                .refuse("/refuse");
        try (TestDispatcher dispatcher = TestDispatcher.serving(script)) {
            assertThat(dispatcher.get("/ok")).returns(201, TestAnswer::status).returns("made", TestAnswer::text);
            assertThat(dispatcher.get("/late").text()).isEqualTo("late");
            assertThat(dispatcher.get("/other").status()).isEqualTo(404);
            assertThat(dispatcher.get("/fail"))
                    .returns(500, TestAnswer::status)
                    .returns("handler_failed: the handler failed", TestAnswer::text);
            assertThat(dispatcher.get("/refuse").text()).startsWith("worker_lost: ");
            assertThatThrownBy(() -> dispatcher.get("/break"))
                    .isInstanceOfSatisfying(
                            DispatchException.class,
                            e -> assertThat(e.failure()).isEqualTo("handler_failed"));
            assertThat(script.served()).startsWith("GET /ok", "GET /late", "GET /other", "GET /fail");
        }
    }

    @Test
    void should_return_the_answers_of_the_dispatcher_itself() {
        Handler handler = (request, response) -> response.respond(200, "fine");
        try (TestDispatcher dispatcher = TestDispatcher.serving(
                handler,
                builder -> builder.router(
                        head -> head.path().toString().equals("/") ? RouteTarget.of(TestDispatcher.FUNCTION) : null))) {
            assertThat(dispatcher.get("/").status()).isEqualTo(200);
            assertThat(dispatcher.get("/other"))
                    .returns(404, TestAnswer::status)
                    .returns("no_function: no function matches /other", TestAnswer::text);
        }
    }

    /** Each time, the dispatcher could be a moment behind its worker. */
    @RepeatedTest(20)
    void should_be_counted_when_the_worker_is_ready() {
        try (TestDispatcher dispatcher =
                TestDispatcher.serving((Handler) (request, response) -> response.respond(200, "fine"))) {
            assertThat(dispatcher.dispatcher().isReady()).isTrue();
            assertThat(dispatcher.dispatcher().pools().get(0).readyWorkers()).isOne();
        }
    }

    @Test
    void should_serve_with_several_workers_of_one_configuration() {
        Handler handler = (request, response) -> response.respond(200, "fine");
        try (TestDispatcher dispatcher = TestDispatcher.serving(handler)) {
            WorkerConfig config = WorkerConfig.of(
                    TestDispatcher.FUNCTION, SECRET, dispatcher.dispatcher().workerAddress());
            try (Worker first = new Worker(config, handler).start();
                    Worker second = new Worker(config, handler).start()) {
                first.ready().toCompletableFuture().join();
                second.ready().toCompletableFuture().join();
                assertThat(dispatcher.dispatcher().pools().get(0).readyWorkers())
                        .isEqualTo(3);
            }
            WorkerConfig named = config.toBuilder().workerId("one").build();
            try (Worker first = new Worker(named, handler).start();
                    Worker second = new Worker(named, handler)) {
                assertThatThrownBy(second::start)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(
                                "another worker was started with this WorkerConfig, whose worker id is one");
                first.ready().toCompletableFuture().join();
            }
        }
    }

    /** The worker refuses to be created without a handler. */
    @Test
    void should_close_the_dispatcher_if_there_is_no_worker() throws Exception {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        WorkerLauncher launcher = new WorkerLauncher() {
            @Override
            public LaunchedWorker launch(LaunchRequest request) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void close(Duration grace) {
                closed.complete(null);
            }
        };
        assertThatThrownBy(() -> TestDispatcher.serving((Handler) null, builder -> builder.launcher(launcher)))
                .isInstanceOf(NullPointerException.class);
        closed.get(20, TimeUnit.SECONDS);
    }

    @Test
    void should_call_a_handler_without_a_network() {
        Handler echo = (request, response) -> {
            response.head(new DefaultHttp2Headers(false)
                    .status("200")
                    .add("X-Method", request.method().toString() + " " + request.header("X-Name")));
            Pipe.connect(request.body(), response);
        };
        TestAnswer answer = HandlerProbe.post("/echo")
                .header("X-Name", "1")
                .body("text")
                .trailer("x-sum", "2")
                .call(echo);
        assertThat(answer.text()).isEqualTo("text");
        assertThat(answer.header("x-method")).isEqualTo("POST 1");
        assertThat(answer.trailers()).containsKey("x-sum");
    }

    @Test
    void should_gather_a_body_and_refuse_one_that_is_too_long() {
        Handler counts =
                (request, response) -> request.body().readAll(4, bytes -> response.respond(200, "" + bytes.length));
        assertThat(HandlerProbe.post("/").body("1234").call(counts).text()).isEqualTo("4");
        assertThat(HandlerProbe.post("/").body("12345").call(counts).status()).isEqualTo(413);
        assertThat(HandlerProbe.get("/").call(counts).text()).isEqualTo("0");
    }

    @Test
    void should_say_what_a_handler_did_wrong() {
        assertThatThrownBy(() -> HandlerProbe.get("/").call((request, response) -> {
                    throw new IllegalStateException("no disk");
                }))
                .isInstanceOf(AssertionError.class)
                .hasMessage("no response: no disk");
        assertThatThrownBy(() -> HandlerProbe.get("/").call((request, response) -> response.end()))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("expects head()");
        assertThatThrownBy(() -> HandlerProbe.get("/")
                        .call((request, response) -> response.respond(
                                new DefaultHttp2Headers(false).status("200").add("my header", "1"))))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("header name 'my header'");
        assertThatThrownBy(() -> HandlerProbe.get("/").call((request, response) -> {
                    response.head(new DefaultHttp2Headers().status("200").add("content-length", "3"));
                    response.end();
                }))
                .isInstanceOf(AssertionError.class)
                .hasMessage("no response: the response's body is shorter than its content-length");
    }

    @Test
    void should_tell_a_handler_that_the_client_has_disconnected() {
        AtomicReference<Object> told = new AtomicReference<>();
        assertThatThrownBy(() -> HandlerProbe.get("/")
                        .clientDisconnects()
                        .call((request, response) -> request.onCancel(told::set)))
                .hasMessageContaining("the client has disconnected");
        assertThat(told.get()).hasToString("CANCELLED");
    }

    @Test
    void should_tell_a_listener_that_comes_after_the_client_has_disconnected() throws Exception {
        CompletableFuture<Object> told = new CompletableFuture<>();
        assertThatThrownBy(() -> HandlerProbe.get("/")
                        .clientDisconnects()
                        .call((request, response) -> request.onCancel(code -> request.onCancel(told::complete))))
                .hasMessageContaining("the client has disconnected");
        assertThat(told.get(20, TimeUnit.SECONDS)).hasToString("CANCELLED");
    }

    @Test
    void should_fail_a_body_that_is_paused_when_the_client_disconnects() {
        List<String> seen = new ArrayList<>();
        assertThatThrownBy(() -> HandlerProbe.post("/")
                        .body("text")
                        .clientDisconnects()
                        .call((request, response) -> {
                            request.body().pause();
                            request.body().read(new BodyReader() {
                                @Override
                                public void onData(ByteBuf buffer) {
                                    buffer.release();
                                    seen.add("data");
                                }

                                @Override
                                public void onEnd(Http2Headers trailers) {
                                    seen.add("end");
                                }

                                @Override
                                public void onFailed(FailureReason code) {
                                    seen.add("failed: " + code);
                                }
                            });
                        }))
                .hasMessageContaining("the client has disconnected");
        assertThat(seen).containsExactly("failed: CANCELLED");
    }

    @Test
    void should_not_interrupt_a_handler_that_has_responded() throws Exception {
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        HandlerProbe.get("/").call((request, response) -> {
            response.respond(200, "");
            try {
                Thread.sleep(200); // An interrupt after the response would come within this time.
                interrupted.complete(false);
            } catch (InterruptedException e) {
                interrupted.complete(true);
            }
        });
        assertThat(interrupted.get(20, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void should_probe_a_handler_within_the_scope_of_its_interceptor() {
        List<String> seen = new ArrayList<>();
        ThreadLocal<String> context = new ThreadLocal<>();
        Handler handler = new Handler() {
            @Override
            public void handle(Request request, Response response) {
                request.body().readAll(100, body -> seen.add("body in " + context.get()));
                seen.add("handle in " + context.get());
                throw new IllegalStateException("broken");
            }

            @Override
            public HandlerInterceptor interceptor() {
                return new HandlerInterceptor() {
                    @Override
                    public Scope enter(Request request) {
                        context.set("r-1");
                        return context::remove;
                    }

                    @Override
                    public void onFailure(Request request, Throwable failure) {
                        seen.add(failure.getMessage() + " in " + context.get());
                    }
                };
            }
        };
        assertThatThrownBy(() -> HandlerProbe.post("/").body("{}").call(handler))
                .hasMessageContaining("broken");
        assertThat(seen).containsExactly("body in r-1", "handle in r-1", "broken in r-1");
    }
}
