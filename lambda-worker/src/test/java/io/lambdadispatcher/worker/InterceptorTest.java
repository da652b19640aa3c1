package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@EachRelease
@Timeout(60)
class InterceptorTest {
    /** Stands for a logging context. */
    private final ThreadLocal<@Nullable String> context = new ThreadLocal<>();

    private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

    private final HandlerInterceptor interceptor = new HandlerInterceptor() {
        @Override
        public Scope enter(Request request) {
            assertThat(context.get()).isNull();
            context.set(request.header("x-request-id"));
            return context::remove;
        }

        @Override
        public void onFailure(Request request, Throwable failure) {
            note("failure " + failure.getMessage());
            throw new IllegalStateException("the reporter is broken as well");
        }
    };

    private void note(String what) {
        seen.add(what + " in " + context.get());
    }

    private String next() throws InterruptedException {
        return seen.poll(10, TimeUnit.SECONDS);
    }

    private Handler intercepted(Handler handler) {
        return intercepted(handler, interceptor);
    }

    private static Handler intercepted(Handler handler, HandlerInterceptor interceptor) {
        return new Handler() {
            @Override
            public void handle(Request request, Response response) throws Exception {
                handler.handle(request, response);
            }

            @Override
            public HandlerInterceptor interceptor() {
                return interceptor;
            }
        };
    }

    private static Http2Headers request(Http2Headers head) {
        return head.set("x-request-id", "r-1");
    }

    @Test
    void should_surround_the_handler_its_reader_and_its_listeners() throws Exception {
        Handler handler = intercepted((request, response) -> {
            note("handle");
            request.onCancel(reason -> note("cancel"));
            request.onDrain(grace -> note("drain"));
            request.body().read(new BodyReader() {
                @Override
                public void onData(ByteBuf data) {
                    data.release();
                    note("data");
                }

                @Override
                public void onEnd(Http2Headers trailers) {
                    note("end");
                }

                @Override
                public void onFailed(FailureReason reason) {}
            });
        });
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(request(post("/")), 0, false);
            assertThat(next()).isEqualTo("handle in r-1");
            stream.data(new byte[10], false);
            assertThat(next()).isEqualTo("data in r-1");
            stream.data(new byte[0], true);
            assertThat(next()).isEqualTo("end in r-1");
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(next()).isEqualTo("drain in r-1");
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(next()).isEqualTo("cancel in r-1");
        }
        assertThat(seen).isEmpty();
    }

    @Test
    void should_report_failures_within_the_scope_and_survive_its_own() throws Exception {
        Handler handler = intercepted((request, response) -> {
            throw new IllegalStateException("broken");
        });
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(request(get("/")), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).text()).isEmpty();
            assertThat(next()).isEqualTo("failure broken in r-1");
            stream.request(request(get("/")), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).text()).isEmpty();
            assertThat(next()).isEqualTo("failure broken in r-1");
        }
    }

    @Test
    void should_fail_the_request_if_the_interceptor_fails() throws Exception {
        HandlerInterceptor broken = new HandlerInterceptor() {
            @Override
            public Scope enter(Request request) {
                throw new IllegalStateException("no context");
            }
        };
        Handler handler = intercepted(
                (request, response) -> {
                    response.respond(200, "not reached");
                },
                broken);
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
    }

    @Test
    void should_log_a_failure_even_if_the_interceptor_fails_then() throws Exception {
        LoggedLines log = LoggedLines.of("io.lambdadispatcher.worker.internal.exchange.FailureLog", Level.TRACE);
        AtomicInteger calls = new AtomicInteger();
        HandlerInterceptor broken = new HandlerInterceptor() {
            @Override
            public @Nullable Scope enter(Request request) {
                if (calls.incrementAndGet() > 1) {
                    throw new IllegalStateException("no context");
                }
                return null;
            }
        };
        Handler handler = intercepted(
                (request, response) -> {
                    throw new IllegalStateException("sold out");
                },
                broken);
        try (log;
                Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
        assertThat(log.events())
                .extracting(line -> line.getThrowableProxy().getMessage())
                .containsExactly("sold out", "no context");
    }

    @Test
    void should_fail_the_request_if_there_is_no_interceptor_to_be_had() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        Handler handler = new Handler() {
            @Override
            public void handle(Request request, Response response) {
                response.respond(200, "served");
            }

            @Override
            public HandlerInterceptor interceptor() {
                return switch (asked.getAndIncrement()) {
                    case 0 -> throw new IllegalStateException("none");
                    case 1 -> null;
                    default -> HandlerInterceptor.NONE;
                };
            }
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 2; i++) {
                stream.request(get("/"), 0, true);
                assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            }
            stream.request(get("/"), 0, true);
            assertThat(stream.gather().status()).isEqualTo("200");
        }
    }

    @Test
    void should_surround_a_blocking_handler_on_its_thread() throws Exception {
        BlockingHandler handler = new BlockingHandler() {
            @Override
            public void handle(BlockingRequest request, BlockingResponse response) throws Exception {
                note("handle");
                if (request.path().equals("/broken")) {
                    throw new IllegalStateException("broken");
                }
                response.body().write(1);
            }

            @Override
            public HandlerInterceptor interceptor() {
                return interceptor;
            }
        };
        try (Harness harness = new Harness(handler.asHandler())) {
            ScriptedStream stream = harness.stream();
            stream.request(request(get("/")), 0, true);
            assertThat(stream.gather().status()).isEqualTo("200");
            assertThat(next()).isEqualTo("handle in r-1");
            stream.request(request(get("/broken")), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).text()).isEmpty();
            assertThat(next()).isEqualTo("handle in r-1");
            assertThat(next()).isEqualTo("failure broken in r-1");
        }
    }
}
