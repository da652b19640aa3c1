package io.lambdadispatcher.core.internal.inprocess;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.AsyncInProcessHandler;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that the program serves itself, with code that never waits. */
@Timeout(120)
class AsyncInProcessTest {
    private static final DispatchRequest GET = DispatchRequest.get("/").build();

    private Dispatcher dispatcher;

    private void serve(AsyncInProcessHandler handler, int concurrency, Duration timeout) {
        dispatcher = Dispatcher.builder()
                .function(
                        FunctionOptions.builder("orders").workerTimeout(timeout).build())
                .inProcess("orders", handler, concurrency)
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoops(2)
                .start();
    }

    private void serve(AsyncInProcessHandler handler) {
        serve(handler, 1, Duration.ofSeconds(60));
    }

    @AfterEach
    void close() {
        dispatcher.close();
    }

    private static <T> T get(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    private String text(DispatchRequest request) throws Exception {
        return textOf(dispatcher.dispatch(request));
    }

    private static String textOf(CompletionStage<DispatchResponse> response) throws Exception {
        return get(response.thenCompose(DispatchResponse::bodyAsString));
    }

    private int failure(DispatchRequest request) {
        try {
            throw new AssertionError("got " + text(request));
        } catch (ExecutionException e) {
            return ((DispatchException) e.getCause()).status();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static CompletionStage<DispatchResponse> fine(DispatchRequest request) {
        return CompletableFuture.completedStage(DispatchResponse.of(200, Map.of("X-Kind", "base"), "fine".getBytes()));
    }

    @ParameterizedTest
    @CsvSource({"GET, fine", "POST, fine", "HEAD, ''"})
    void should_serve_a_request(String method, String expected) throws Exception {
        serve(AsyncInProcessTest::fine);
        for (int i = 0; i < 3; i++) {
            DispatchResponse response =
                    get(dispatcher.dispatch(DispatchRequest.builder(method, "/").build()));
            assertThat(response.header("x-kind")).isEqualTo("base");
            assertThat(response.header("content-length")).isEqualTo("4");
            assertThat(get(response.bodyAsString())).isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 5_000, 3_000_000})
    void should_pass_bodies_both_ways(int bytes) throws Exception {
        byte[] body = new byte[bytes];
        new Random(bytes).nextBytes(body);
        serve(request -> CompletableFuture.completedStage(
                DispatchResponse.of(200, Map.of(), Objects.requireNonNull(request.body()))));
        for (int i = 0; i < 3; i++) {
            DispatchRequest request = DispatchRequest.post("/").body(body).build();
            byte[] back = get(dispatcher.dispatch(request).thenCompose(response -> response.bodyAsBytes()));
            assertThat(back).isEqualTo(body);
        }
    }

    /** Publishes parts of 100 kB without an end, as they are asked for. */
    private static final class Endless implements Flow.Publisher<ByteBuf> {
        final AtomicInteger published = new AtomicInteger();
        final CompletableFuture<Void> cancelled = new CompletableFuture<>();

        @Override
        public void subscribe(Flow.Subscriber<? super ByteBuf> subscriber) {
            subscriber.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long n) {
                    published.incrementAndGet();
                    subscriber.onNext(Unpooled.wrappedBuffer(new byte[100_000]));
                }

                @Override
                public void cancel() {
                    cancelled.complete(null);
                }
            });
        }
    }

    @Test
    void should_ask_for_no_more_than_the_client_takes_and_cancel_with_it() throws Exception {
        Endless body = new Endless();
        serve(request -> CompletableFuture.completedStage(DispatchResponse.of(200, Map.of(), body)));
        DispatchResponse response = get(dispatcher.dispatch(GET));
        Await.until("the first part is there", () -> body.published.get() == 1);
        Await.remains("it waits", Duration.ofMillis(200), () -> body.published.get() == 1);
        assertThatThrownBy(() -> get(response.bodyAsBytes(1_000_000))).hasCauseInstanceOf(DispatchException.class);
        get(body.cancelled);
        assertThat(body.published.get()).isBetween(10, 12);
    }

    @Test
    void should_read_the_body_until_nobody_waits_for_its_end() throws Exception {
        for (boolean drained : new boolean[] {true, false}) {
            Endless body = new Endless();
            serve(request -> CompletableFuture.completedStage(DispatchResponse.of(200, Map.of(), body)));
            DispatchResponse response = get(dispatcher.dispatch(GET));
            CompletableFuture<?> end =
                    (drained ? response.drain() : response.bodyAsBytes(Integer.MAX_VALUE)).toCompletableFuture();
            Await.until("the body is read", () -> body.published.get() > 100);
            end.cancel(false);
            get(body.cancelled);
            dispatcher.close(Duration.ZERO);
        }
    }

    @Test
    void should_drain_a_body_of_any_length() throws Exception {
        serve(request -> CompletableFuture.completedStage(
                DispatchResponse.of(200, Map.of(), Objects.requireNonNull(request.body()))));
        for (int i = 0; i < 3; i++) {
            DispatchRequest request =
                    DispatchRequest.post("/").body(new byte[3_000_000]).build();
            assertThat(get(dispatcher.dispatch(request).thenCompose(DispatchResponse::drain)))
                    .isNull();
        }
    }

    /** Text cannot have all bytes, so who passes headers on takes them as they are. */
    @Test
    void should_show_headers_as_text_and_as_bytes() throws Exception {
        AsciiString bytes = new AsciiString(new byte[] {'a', (byte) 0xE9, (byte) 0x80}, false);
        serve(request -> {
            Map<String, CharSequence> fields = new HashMap<>();
            request.forEachHeader((name, value) -> fields.put(name.toString(), value));
            assertThat(AsciiString.contentEquals(fields.get("x-raw"), bytes)).isTrue();
            assertThat(request.header("x-raw")).isEqualTo("a\u00e9\u0080");
            assertThat(request.headers()).containsEntry("x-many", List.of("1", "\u20ac"));
            return CompletableFuture.completedStage(DispatchResponse.of(200, Map.of("X-Text", "\u20ac"), new byte[0]));
        });
        DispatchResponse response = get(dispatcher.dispatch(DispatchRequest.get("/")
                .header("X-Raw", bytes)
                .header("x-many", "1")
                .header("x-many", "\u20ac")
                .build()));
        assertThat(response.headers()).isEqualTo(Map.of("x-text", List.of("\u20ac"), "content-length", List.of("0")));
        Map<String, CharSequence> fields = new HashMap<>();
        response.forEachHeader((name, value) -> fields.put(name.toString(), value));
        assertThat(fields.get("x-text")).hasSize(3);
        assertThat(fields).doesNotContainKey(":status");
        response.discard();
    }

    /** The response of another dispatcher would keep its worker stream busy. */
    @ParameterizedTest
    @CsvSource({"content-length, many, 502", "x-lines, 'a\nb', 500"})
    void should_discard_a_response_that_is_refused(String name, String value, int expected) throws Exception {
        CompletableFuture<Void> discarded = new CompletableFuture<>();
        Http2Headers headers = new DefaultHttp2Headers(false).set(name, value);
        serve(request -> CompletableFuture.completedStage(new DispatchResponse(
                200,
                headers,
                new Endless(),
                () -> discarded.complete(null),
                CompletableFuture.completedStage(Map.of()))));
        assertThat(failure(GET)).isEqualTo(expected);
        get(discarded);
    }

    @Test
    void should_not_take_an_upload_that_the_handler_does_not_read() throws Exception {
        Endless upload = new Endless();
        serve(request -> new CompletableFuture<>());
        CompletableFuture<DispatchResponse> response = dispatcher
                .dispatch(DispatchRequest.post("/").body(upload).build())
                .toCompletableFuture();
        Await.until("the first part is there", () -> upload.published.get() == 1);
        Await.remains("it waits", Duration.ofMillis(200), () -> upload.published.get() == 1);
        response.cancel(false);
        get(upload.cancelled);
    }

    @Test
    void should_answer_500_if_the_handler_fails() throws Exception {
        serve(request -> switch (request.path()) {
            case "/throws" -> throw new IllegalStateException("broken");
            case "/null" -> null;
            case "/fails" -> CompletableFuture.failedStage(new IllegalStateException("broken"));
            case "/empty" -> CompletableFuture.completedStage(null);
            default -> fine(request);
        });
        for (String path : new String[] {"/throws", "/null", "/fails", "/empty"}) {
            assertThat(failure(DispatchRequest.get(path).build())).as(path).isEqualTo(500);
        }
        assertThat(text(GET)).isEqualTo("fine");
    }

    @Test
    void should_cancel_the_stage_in_time_and_serve_the_next() throws Exception {
        CompletableFuture<DispatchResponse> never = new CompletableFuture<>();
        serve(request -> never.isDone() ? fine(request) : never, 1, Duration.ofMillis(300));
        assertThat(failure(GET)).isEqualTo(504);
        Await.until("the stage is cancelled", never::isCancelled);
        assertThat(text(GET)).isEqualTo("fine");
    }

    @Test
    void should_take_one_request_at_a_time() throws Exception {
        AtomicInteger begun = new AtomicInteger();
        CompletableFuture<DispatchResponse> first = new CompletableFuture<>();
        serve(request -> begun.incrementAndGet() == 1 ? first : fine(request));
        CompletionStage<DispatchResponse> one = dispatcher.dispatch(GET);
        Await.until("it begins", () -> begun.get() == 1);
        CompletionStage<DispatchResponse> two = dispatcher.dispatch(GET);
        Await.until("the other one waits", () -> dispatcher.pools().get(0).queued() == 1);
        first.complete(get(fine(GET)));
        assertThat(textOf(one)).isEqualTo("fine");
        assertThat(textOf(two)).isEqualTo("fine");
        assertThat(begun).hasValue(2);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1})
    void should_fail_the_body_of_a_subscriber_that_asks_for_no_parts(long parts) throws Exception {
        CompletableFuture<Throwable> told = new CompletableFuture<>();
        serve(request -> {
            Objects.requireNonNull(request.body()).subscribe(new Flow.Subscriber<>() {
                @Override
                public void onSubscribe(Flow.Subscription subscription) {
                    subscription.request(parts);
                }

                @Override
                public void onNext(ByteBuf part) {
                    part.release();
                }

                @Override
                public void onError(Throwable error) {
                    told.complete(error);
                }

                @Override
                public void onComplete() {}
            });
            return told.thenCompose(error -> fine(request));
        });
        assertThat(textOf(dispatcher.dispatch(
                        DispatchRequest.post("/").body(new byte[1_000]).build())))
                .isEqualTo("fine");
        assertThat(told.join()).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("request(" + parts);
    }
}
