package io.lambdadispatcher.worker.adapter.runtime;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Reset;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.internal.exchange.BodyBudget;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that requests that the worker itself cannot serve end immediately, not at their deadline.
 * No child is started.
 */
@Timeout(60)
class RequestExchangeTest {
    private static final int LARGE_BYTES = 300 * 1024;
    private static final Executor NO_THREADS = action -> {
        throw new RejectedExecutionException("none left");
    };

    private final RuntimePool pool =
            new RuntimePool(RuntimeConfig.read(Map.of("LAMBDA_DISPATCHER_RUNTIME", "never-started")));

    /** Confined to the event loop. */
    private boolean starved;

    @AfterEach
    void stop() {
        pool.stop();
    }

    private RequestExchange.Shared shared(Executor threads) {
        return new RequestExchange.Shared(
                pool,
                EventWriter.of(EventFormat.HTTP_API_V2, "function"),
                new ResponseReader(EventFormat.HTTP_API_V2),
                threads,
                "arn",
                4 * LARGE_BYTES);
    }

    /**
     * A request that runs out of memory when the test says so. The parts that make the event and
     * the response ask the request for the methods that throw.
     */
    private Request starving(Request request) {
        return (Request) Proxy.newProxyInstance(
                Request.class.getClassLoader(), new Class<?>[] {Request.class}, (proxy, method, arguments) -> {
                    if (starved && Set.of("headers", "method").contains(method.getName())) {
                        throw new OutOfMemoryError("on purpose");
                    }
                    return method.invoke(request, arguments);
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, LARGE_BYTES})
    void should_fail_a_request_whose_answer_there_is_no_memory_for(int bytes) throws Exception {
        byte[] answer = ("{\"statusCode\":200}" + " ".repeat(bytes)).getBytes(StandardCharsets.UTF_8);
        try (Harness harness = new Harness((request, response) -> {
            starved = true;
            new RequestExchange(shared(Runnable::run), starving(request), response).onWhole(answer);
        })) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            Reset reset = stream.take(Reset.class);
            assertThat(reset.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(reset.text()).isEmpty();
        }
    }

    /** The author of the function reads in the client why, not that the function did not answer. */
    @Test
    void should_say_why_a_response_is_malformed() throws Exception {
        byte[] answer = "{\"statusCode\":200,\"isBase64Encoded\":true,\"body\":\"?\"}".getBytes(StandardCharsets.UTF_8);
        try (Harness harness = new Harness(
                (request, response) -> new RequestExchange(shared(NO_THREADS), request, response).onWhole(answer))) {
            ScriptedStream.Gathered gathered = harness.stream().exchange(get("/"));
            assertThat(gathered.status()).isEqualTo("502");
            assertThat(gathered.text()).contains("body is not base64");
        }
    }

    @Test
    void should_fail_a_request_whose_answer_finds_no_thread() throws Exception {
        try (Harness harness = new Harness((request, response) ->
                new RequestExchange(shared(NO_THREADS), request, response).onWhole(new byte[LARGE_BYTES]))) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(stream.take(Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
    }

    @Test
    void should_fail_a_request_whose_event_there_is_no_memory_for() throws Exception {
        Executor threads = action -> {
            starved = true;
            action.run();
        };
        try (Harness harness = new Harness(
                (request, response) -> new RequestExchange(shared(threads), starving(request), response).start())) {
            assertThat(afterLargeRequest(harness)).isEqualTo(ErrorCode.HANDLER_FAILED);
        }
    }

    /** No function has received the request. */
    @Test
    void should_leave_a_request_to_another_worker_whose_body_finds_no_thread() throws Exception {
        try (Harness harness = new Harness(
                (request, response) -> new RequestExchange(shared(NO_THREADS), request, response).start())) {
            assertThat(afterLargeRequest(harness)).isEqualTo(ErrorCode.REFUSED);
        }
    }

    /** Each request is as large as it may be, and together they exceed the memory. */
    @Test
    void should_leave_a_request_to_another_worker_if_others_take_the_memory() throws Exception {
        BodyBudget budget = pool.budget();
        long others = 0;
        for (int i = 0; i < 64; i++) {
            assertThat(budget.tryTake(others, Integer.MAX_VALUE))
                    .as("a body that is alone")
                    .isTrue();
            others += Integer.MAX_VALUE;
        }
        try (Harness harness = new Harness(
                (request, response) -> new RequestExchange(shared(Runnable::run), request, response).start())) {
            assertThat(afterLargeRequest(harness)).isEqualTo(ErrorCode.REFUSED);
        }
        assertThat(budget.takenBytes()).isEqualTo(others);
        budget.giveBack(others);
    }

    @Test
    void should_give_back_the_memory_of_a_request_that_fails() throws Exception {
        try (Harness harness = new Harness(
                (request, response) -> new RequestExchange(shared(NO_THREADS), request, response).start())) {
            assertThat(afterLargeRequest(harness)).isEqualTo(ErrorCode.REFUSED);
        }
        assertThat(pool.budget().takenBytes()).isZero();
    }

    @Test
    void should_refuse_an_answer_that_there_is_no_room_for() {
        BodyBudget budget = new BodyBudget(10);
        assertThat(budget.tryTake(0, 6)).isTrue();
        List<String> seen = new ArrayList<>();
        WholeUpload upload = new WholeUpload(-1, 100, budget, new WholeUpload.Taker() {
            @Override
            public void onWhole(byte[] content) {
                seen.add("whole " + content.length);
            }

            @Override
            public void onTooLarge() {
                seen.add("too large");
            }

            @Override
            public void onBroken() {
                seen.add("broken");
            }
        });
        upload.onBytes(Unpooled.wrappedBuffer(new byte[4]));
        assertThat(budget.takenBytes()).isEqualTo(10);
        upload.onBytes(Unpooled.wrappedBuffer(new byte[1]));
        upload.onBytes(Unpooled.wrappedBuffer(new byte[1]));
        upload.onEnd(EmptyHttpHeaders.INSTANCE);
        assertThat(seen).containsExactly("too large");
        assertThat(budget.takenBytes()).isEqualTo(6);
    }

    private static ErrorCode afterLargeRequest(Harness harness) throws Exception {
        ScriptedStream stream = harness.stream();
        stream.request(post("/"), 0, false);
        stream.data(new byte[LARGE_BYTES], true);
        return stream.take(Reset.class).code();
    }
}
