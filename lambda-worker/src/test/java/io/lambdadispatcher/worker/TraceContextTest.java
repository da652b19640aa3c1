package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.handler.TraceContext;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.opentelemetry.api.trace.Span;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.MDC;

@Timeout(60)
class TraceContextTest {
    private static final int CONCURRENT = 32;

    private static Http2Headers traced(int number, String flags) {
        return get("/" + number)
                .set("traceparent", "00-" + traceId(number) + "-" + String.format("%016x", number + 1) + "-" + flags);
    }

    private static String traceId(int number) {
        return String.format("%032x", number + 1);
    }

    /** Returns what code of a handler sees. */
    private static String seen() {
        return MDC.get(TraceContext.TRACE_ID) + " " + MDC.get(TraceContext.SPAN_ID) + " "
                + Span.current().getSpanContext().getTraceId();
    }

    private static String expected(int number) {
        return traceId(number) + " " + String.format("%016x", number + 1) + " " + traceId(number);
    }

    @Test
    void should_never_mix_the_traces_of_concurrent_requests_of_a_blocking_handler() throws Exception {
        CyclicBarrier together = new CyclicBarrier(CONCURRENT);
        BlockingHandler handler = (request, response) -> {
            String before = seen();
            together.await(20, TimeUnit.SECONDS);
            together.await(20, TimeUnit.SECONDS);
            response.respond(200, before.equals(seen()) ? before : before + " then " + seen());
        };
        try (Harness harness = new Harness(handler.asHandler(), config -> config.streams(CONCURRENT))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            List<ScriptedStream> streams = new ArrayList<>();
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < CONCURRENT; i++) {
                    if (round == 0) {
                        streams.add(link.takeStream());
                    }
                    streams.get(i).request(traced(i, "00"), 0, true);
                }
                for (int i = 0; i < CONCURRENT; i++) {
                    assertThat(streams.get(i).gather().text()).isEqualTo(expected(i));
                }
            }
        }
        assertThat(MDC.get(TraceContext.TRACE_ID)).isNull();
    }

    @Test
    void should_never_mix_the_traces_of_concurrent_requests_of_an_asynchronous_handler() throws Exception {
        Handler handler = new Handler() {
            @Override
            public void handle(Request request, Response response) {
                String before = seen();
                request.body().read(new BodyReader() {
                    @Override
                    public void onData(ByteBuf data) {
                        data.release();
                        if (!before.equals(seen())) {
                            response.fail(FailureReason.HANDLER_FAILED, "mixed: " + seen());
                        }
                    }

                    @Override
                    public void onEnd(Http2Headers trailers) {
                        response.respond(200, before.equals(seen()) ? before : before + " then " + seen());
                    }

                    @Override
                    public void onFailed(FailureReason reason) {}
                });
            }

            @Override
            public HandlerInterceptor interceptor() {
                return TraceContext.interceptor();
            }
        };
        try (Harness harness = new Harness(handler, config -> config.streams(CONCURRENT))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            List<ScriptedStream> streams = new ArrayList<>();
            for (int i = 0; i < CONCURRENT; i++) {
                streams.add(link.takeStream());
                streams.get(i).request(traced(i, "00").method("POST"), 0, false);
            }
            for (int part = 0; part < 3; part++) {
                for (ScriptedStream stream : streams) {
                    stream.data(new byte[10], part == 2);
                }
            }
            for (int i = 0; i < CONCURRENT; i++) {
                assertThat(streams.get(i).gather().text()).isEqualTo(expected(i));
            }
        }
    }

    @Test
    void should_surround_a_handler_on_the_event_loop() throws Exception {
        Handler handler = new Handler() {
            @Override
            public void handle(Request request, Response response) {
                response.respond(200, seen());
            }

            @Override
            public HandlerInterceptor interceptor() {
                return TraceContext.interceptor();
            }
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(traced(7, "00")).text()).isEqualTo(expected(7));
            assertThat(stream.exchange(get("/").set("traceparent", "00-x")).text())
                    .isEqualTo("null null 00000000000000000000000000000000");
        }
    }

    @Test
    void should_report_the_times_of_the_handler_of_a_traced_request() throws Exception {
        BlockingHandler handler = (request, response) -> {
            Thread.sleep(50); // The time that is reported.
            response.respond(200, "done");
        };
        try (Harness harness = new Harness(handler.asHandler())) {
            ScriptedStream stream = harness.stream();
            stream.request(traced(1, "01"), 0, true);
            ScriptedStream.Timing timing = stream.take(ScriptedStream.Timing.class);
            assertThat(timing.handlerMicros()).isBetween(50_000L, 10_000_000L);
            assertThat(timing.waitMicros()).isLessThan(10_000_000L);
            assertThat(stream.gather().text()).isEqualTo("done");
        }
    }

    @Test
    void should_report_the_times_before_each_kind_of_end() throws Exception {
        Handler handler = (request, response) -> {
            switch (request.path()) {
                case "/0" -> throw new IllegalStateException("broken");
                case "/1" -> response.respond(204, "");
                default -> {
                    response.head(200);
                    response.end();
                }
            }
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(traced(0, "01"), 0, true);
            stream.take(ScriptedStream.Timing.class);
            stream.take(ScriptedStream.Reset.class);
            stream.request(traced(1, "01"), 0, true);
            stream.take(ScriptedStream.Timing.class);
            stream.take(ScriptedStream.Head.class);
            stream.request(traced(2, "01"), 0, true);
            stream.take(ScriptedStream.Head.class);
            stream.take(ScriptedStream.Timing.class);
            stream.take(ScriptedStream.Data.class);
        }
    }
}
