package io.lambdadispatcher.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.core.spi.InvokeException;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** Programs that wait for the dispatcher, on its event loop and on other threads. */
@EachRelease
@Timeout(60)
class WaitingTest {
    private static final DispatchRequest GET = DispatchRequest.get("/now").build();
    private static final DispatchRequest GET_LATER =
            DispatchRequest.get("/later").build();

    private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
    private final CompletableFuture<InvokeResult> later = new CompletableFuture<>();
    private volatile CompletableFuture<InvokeResult> asked = new CompletableFuture<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            if (event.getLevel().isGreaterOrEqual(Level.WARN)) {
                warnings.add(event.getFormattedMessage());
            }
        }
    };

    private final Logger log = (Logger) LoggerFactory.getLogger("io.lambdadispatcher");
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.of("now"))
            .function(FunctionOptions.of("later"))
            .function(FunctionOptions.of("asked"))
            .router(head -> RouteTarget.of(head.path().toString().substring(1)))
            .direct("now", DirectOptions.of(DirectEventFormat.ALB))
            .direct("later", DirectOptions.of(DirectEventFormat.ALB))
            .direct("asked", DirectOptions.of(DirectEventFormat.ALB))
            .invoker((function, event) -> switch (function) {
                case "now" -> CompletableFuture.completedFuture(result());
                case "asked" -> asked;
                default -> later;
            })
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .eventLoops(1)
            .start();

    private static InvokeResult result() {
        return new InvokeResult(200, null, "{\"statusCode\":200,\"body\":\"fine\"}".getBytes(StandardCharsets.UTF_8));
    }

    @BeforeEach
    void listen() {
        appender.start();
        log.addAppender(appender);
        log.setLevel(Level.WARN);
    }

    @AfterEach
    void close() {
        log.detachAppender(appender);
        log.setLevel(null);
        later.complete(new InvokeResult(200, null, "{\"statusCode\":200}".getBytes(StandardCharsets.UTF_8)));
        dispatcher.close();
    }

    /**
     * Runs code in a callback of a request, on its event loop. The response arrives later, because
     * a callback of a response that has arrived would run on the calling thread.
     */
    private <T> CompletableFuture<T> callback(Function<DispatchResponse, T> code) {
        asked = new CompletableFuture<>();
        CompletableFuture<T> result = dispatcher
                .dispatch(DispatchRequest.get("/asked").build())
                .thenApply(response -> {
                    response.discard();
                    return code.apply(response);
                })
                .toCompletableFuture();
        asked.complete(result());
        return result;
    }

    private <T> T inCallback(Function<DispatchResponse, T> code) throws Exception {
        return callback(code).get(20, TimeUnit.SECONDS);
    }

    interface Wait {
        Object on(CompletableFuture<?> stage) throws Exception;
    }

    static Stream<Function<Dispatcher, CompletionStage<?>>> stages() {
        return Stream.of(
                to -> to.dispatch(GET_LATER),
                to -> to.dispatch(GET_LATER).thenApply(DispatchResponse::status),
                to -> to.dispatch(GET_LATER).thenCompose(DispatchResponse::bodyAsBytes),
                to -> to.dispatch(GET_LATER).thenCompose(DispatchResponse::trailers),
                Dispatcher::workers,
                to -> to.requests(10),
                to -> to.drain(worker -> true),
                to -> to.recycle(worker -> true),
                to -> to.close(Duration.ofMillis(100)));
    }

    @ParameterizedTest
    @MethodSource("stages")
    void should_throw_at_a_wait_on_the_event_loop(Function<Dispatcher, CompletionStage<?>> stage) throws Exception {
        Wait[] waits = {
            CompletableFuture::join, CompletableFuture::get, future -> future.get(20, TimeUnit.SECONDS),
        };
        List<String> thrown = inCallback(response -> {
            CompletableFuture<?> future = stage.apply(dispatcher).toCompletableFuture();
            List<String> all = new ArrayList<>();
            for (Wait wait : waits) {
                try {
                    wait.on(future);
                    all.add("nothing");
                } catch (Exception e) {
                    all.add(e.getClass().getSimpleName() + ": " + e.getMessage().split("Thread")[0]);
                }
            }
            return all;
        });
        assertThat(thrown)
                .containsExactly(
                        "IllegalStateException: join() called on ",
                        "IllegalStateException: get() called on ",
                        "IllegalStateException: get() called on ");
    }

    /** The log has at most one such line in ten seconds, because each request can cause one. */
    @Test
    void should_log_a_wait_whose_exception_nobody_sees() {
        Await.until("a warning", () -> {
            // What is asked again and again must leave no request behind.
            callback(response -> dispatcher.workers().toCompletableFuture().join());
            return warnings.stream().anyMatch(line -> line.startsWith("a callback waits on its event loop"));
        });
    }

    @Test
    void should_let_a_callback_wait_for_what_has_happened() throws Exception {
        CompletableFuture<DispatchResponse> before = dispatcher.dispatch(GET).toCompletableFuture();
        before.get(20, TimeUnit.SECONDS).discard();
        int status = inCallback(response -> before.join().status());
        assertThat(status).isEqualTo(200);
    }

    /** Nothing can tell at the call that these waits are for the event loop itself. */
    @Test
    void should_name_once_what_blocks_an_event_loop() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CompletableFuture<Boolean> released = callback(response -> waitForever(release));
        try {
            Await.until("a warning", () -> !warnings.isEmpty());
            Await.remains("one warning", Duration.ofMillis(2500), () -> warnings.size() == 1);
        } finally {
            release.countDown();
        }
        released.get(20, TimeUnit.SECONDS);
        assertThat(warnings.element())
                .startsWith("event loop dispatcher-")
                .contains("has been blocked for")
                .contains(" ms by io.lambdadispatcher.core.WaitingTest.waitForever(WaitingTest.java:");
        dispatcher.send(GET).discard();
    }

    private static boolean waitForever(CountDownLatch release) {
        try {
            return release.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void should_send_on_a_thread_that_waits() throws Exception {
        DispatchResponse response = dispatcher.send(GET);
        assertThat(response.status()).isEqualTo(200);
        assertThat(response.bodyAsString().toCompletableFuture().join()).isEqualTo("fine");

        later.completeExceptionally(new InvokeException(InvokeException.Reason.THROTTLED, "too many", null));
        assertThatThrownBy(() -> dispatcher.send(GET_LATER))
                .isInstanceOfSatisfying(
                        DispatchException.class, e -> assertThat(e.status()).isGreaterThanOrEqualTo(429));
    }

    @Test
    void should_refuse_to_send_on_the_event_loop() {
        assertThatThrownBy(() -> inCallback(response -> {
                    try {
                        return dispatcher.send(GET_LATER);
                    } catch (InterruptedException e) {
                        return e;
                    }
                }))
                .rootCause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("an event loop of the dispatcher");
        Await.until("no request is left", () -> requests() == 0);
    }

    private int requests() {
        return dispatcher.requests(10).toCompletableFuture().join().size();
    }

    @Test
    void should_cancel_the_request_of_a_thread_that_is_interrupted() throws Exception {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        Thread sender = new Thread(() -> {
            try {
                dispatcher.send(GET_LATER);
            } catch (Throwable e) {
                thrown.complete(e);
            }
        });
        sender.start();
        Await.until("the request", () -> requests() == 1);
        sender.interrupt();
        assertThat(thrown.get(20, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        Await.until("no request is left", () -> requests() == 0);
    }
}
