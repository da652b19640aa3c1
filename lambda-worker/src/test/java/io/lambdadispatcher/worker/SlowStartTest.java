package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A handler that takes longer to start than Lambda's initialisation may last. */
@EachRelease
@Timeout(180)
class SlowStartTest {
    private static final String WARM_UP = "{\"warmUp\":true}";
    private static final String QUEUE = "{\"Records\":[1]}";

    private static final class Slow implements Handler, Lifecycle, RequestStreamHandler {
        final CompletableFuture<Void> started = new CompletableFuture<>();

        @Override
        public CompletionStage<Void> start() {
            return started;
        }

        @Override
        public void stop() {}

        @Override
        public void handle(Request request, Response response) {
            response.head(200);
            response.end();
        }

        @Override
        public void handleRequest(InputStream event, OutputStream result, Context context) throws IOException {
            result.write((started.isDone() ? "served" : "too early").getBytes(StandardCharsets.US_ASCII));
        }
    }

    private final Slow slow = new Slow();
    private final CountDownLatch invoked = new CountDownLatch(1);
    private final AtomicInteger ends = new AtomicInteger();
    private final LambdaHandler handler = new LambdaHandler(slow, () -> 0, ends::incrementAndGet);

    private Context remaining(int millis) {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(), new Class<?>[] {Context.class}, (proxy, method, arguments) -> {
                    invoked.countDown();
                    if (method.getName().equals("getRemainingTimeInMillis")) {
                        return millis;
                    }
                    throw new UnsupportedOperationException(method.getName());
                });
    }

    private String answer(String event, int remainingMillis) throws IOException {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        handler.handleRequest(
                new ByteArrayInputStream(event.getBytes(StandardCharsets.UTF_8)), output, remaining(remainingMillis));
        return output.toString(StandardCharsets.UTF_8);
    }

    /** Returns when the invocation has asked for its remaining time. */
    private CompletableFuture<String> invoke(String event) throws InterruptedException {
        CompletableFuture<String> answer = CompletableFuture.supplyAsync(() -> {
            try {
                return answer(event, 60_000);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        assertThat(invoked.await(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                .isTrue();
        return answer;
    }

    private static String outcome(CompletableFuture<String> answer) throws Exception {
        return answer.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void should_give_an_ordinary_invoke_to_a_handler_that_has_started() throws Exception {
        CompletableFuture<String> answer = invoke(QUEUE);
        slow.started.complete(null);
        assertThat(outcome(answer)).isEqualTo("served");
    }

    @Test
    void should_be_warm_only_when_the_handler_has_started() throws Exception {
        assertThatThrownBy(() -> answer(WARM_UP, 201))
                .isInstanceOf(IOException.class)
                .hasMessage("the handler cannot start: it is not ready after 1 ms");
        slow.started.complete(null);
        assertThat(answer(WARM_UP, 201)).isEqualTo("{\"warm\":true}");
    }

    @Test
    void should_fail_an_ordinary_invoke_that_has_no_time_left_to_wait() {
        assertThatThrownBy(() -> answer(QUEUE, 100))
                .isInstanceOf(IOException.class)
                .hasMessage("the handler cannot start: it is not ready after 0 ms");
    }

    @Test
    void should_fail_what_waits_when_the_start_fails() throws Exception {
        CompletableFuture<String> answer = invoke(QUEUE);
        slow.started.completeExceptionally(new IllegalStateException("port 1 is not open"));
        assertThatThrownBy(() -> outcome(answer))
                .isInstanceOf(ExecutionException.class)
                .hasStackTraceContaining("the handler cannot start: port 1 is not open");
    }

    /**
     * Otherwise, Lambda would send more invocations to the process, and each would fail
     * immediately.
     */
    @ParameterizedTest
    @ValueSource(strings = {QUEUE, WARM_UP, "{\"workerId\":\"w\",\"addresses\":[\"127.0.0.1:1\"]}"})
    void should_end_the_process_that_cannot_serve_any_more(String event) {
        slow.started.completeExceptionally(new IllegalStateException("port 1 is not open"));
        assertThatThrownBy(() -> answer(event, 60_000))
                .isInstanceOf(IOException.class)
                .hasMessage("the handler cannot start: port 1 is not open");
        assertThat(ends).hasValue(1);
    }

    @ParameterizedTest
    @CsvSource({
        "on-demand, 9500",
        "snap-start, 125000",
        "provisioned-concurrency, 125000",
        "lambda-managed-instances, 125000"
    })
    void should_wait_as_long_as_the_kind_of_initialisation_allows(String type, long millis) {
        assertThat(LambdaHandler.longestInitMillis(Map.of("AWS_LAMBDA_INITIALIZATION_TYPE", type)))
                .isEqualTo(millis);
    }

    @Test
    void should_not_rely_on_lambda_to_say_how_it_initialises() {
        assertThat(LambdaHandler.longestInitMillis(Map.of())).isEqualTo(9_500);
    }

    @Test
    void should_not_end_a_process_that_is_only_slow() throws Exception {
        assertThatThrownBy(() -> answer(QUEUE, 201)).isInstanceOf(IOException.class);
        slow.started.complete(null);
        assertThat(answer(QUEUE, 60_000)).isEqualTo("served");
        assertThat(ends).hasValue(0);
    }

    private static Duration deadline(long payloadMillis, long waitedMillis, int remainingMillis) {
        WorkerConfig config = WorkerConfig.builder(
                        "f", new Credential.Token("t"), List.of(InetSocketAddress.createUnresolved("h", 1)))
                .workerId("w1")
                .plain()
                .deadline(Duration.ofMillis(payloadMillis))
                .build();
        return LambdaHandler.withDeadline(config, Duration.ofMillis(waitedMillis), remainingMillis)
                .deadline();
    }

    @Test
    void should_count_the_deadline_of_a_launch_from_the_event() {
        assertThat(deadline(10_000, 4_000, 60_000)).hasMillis(6_000);
        assertThat(deadline(10_000, 4_000, 5_000)).hasMillis(5_000);
        assertThat(deadline(0, 4_000, 5_000)).hasMillis(5_000);
    }

    /** Zero would mean no deadline. */
    @Test
    void should_keep_a_deadline_that_is_over() {
        assertThat(deadline(10_000, 11_000, 60_000)).hasMillis(1);
        assertThat(deadline(0, 4_000, 0)).hasMillis(1);
    }

    @Test
    void should_serve_a_launch_that_has_waited() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            String launch =
                    "{\"function\":\"f\",\"workerId\":\"w1\",\"token\":\"v1.a.b.c.d\",\"tls\":false,\"addresses\":[\"127.0.0.1:"
                            + dispatcher.address().getPort() + "\"],\"connections\":1,\"streams\":1}";
            CompletableFuture<String> answer = invoke(launch);
            assertThat(dispatcher.links()).isEmpty();
            slow.started.complete(null);
            ScriptedStream stream = dispatcher.takeReady().takeStream();
            assertThat(stream.exchange(get("/")).status()).isEqualTo("200");
            stream.link().send(new Drain(DrainCode.SCALE_IN, 1_000));
            assertThat(outcome(answer)).contains("\"reason\":\"scale in\"");
        }
    }
}
