package io.lambdadispatcher.worker.adapter.function;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EachRelease
@Timeout(180)
class FunctionHandlerTest {
    private static final BlockingQueue<String> SEEN = new LinkedBlockingQueue<>();

    @BeforeEach
    void forget() {
        SEEN.clear();
    }

    private static FunctionHandler handler(Class<?> type, String... variables) {
        Map<String, String> map = new java.util.HashMap<>();
        for (int i = 0; i < variables.length; i += 2) {
            map.put(variables[i], variables[i + 1]);
        }
        return FunctionHandler.of(type, null, map);
    }

    /** Returns the values of its context. */
    public static class Facts implements RequestHandler<Map<String, Object>, Map<String, Object>> {
        @Override
        public Map<String, Object> handleRequest(Map<String, Object> event, Context context) {
            Map<?, ?> requestContext = (Map<?, ?>) event.get("requestContext");
            context.getLogger().log("a line");
            return Map.of(
                    "id", context.getAwsRequestId(),
                    "eventId", requestContext.get("requestId"),
                    "remaining", context.getRemainingTimeInMillis(),
                    "function", context.getFunctionName() + "/" + context.getFunctionVersion(),
                    "arn", context.getInvokedFunctionArn(),
                    "memory", context.getMemoryLimitInMB(),
                    "log", context.getLogGroupName() + "/" + context.getLogStreamName(),
                    "trace", String.valueOf(context.getXrayTraceId()),
                    "nothing", context.getIdentity() == null && context.getClientContext() == null,
                    "current", LambdaRequest.current().headers().path().toString());
        }
    }

    @Test
    void should_give_each_request_a_context_of_its_own() throws Exception {
        FunctionHandler handler = handler(
                Facts.class,
                "AWS_LAMBDA_FUNCTION_NAME",
                "shop",
                "AWS_LAMBDA_FUNCTION_VERSION",
                "7",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
                "512",
                "AWS_LAMBDA_LOG_GROUP_NAME",
                "group",
                "AWS_LAMBDA_LOG_STREAM_NAME",
                "stream",
                "AWS_REGION",
                "eu-north-1");
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/a").add("x-amzn-trace-id", "Root=1-2-3"), 60_000, true);
            String first = stream.gather().text();
            String second = stream.exchange(get("/b")).text();

            assertThat(first)
                    .contains("\"function\":\"shop/7\"", "\"memory\":512", "\"log\":\"group/stream\"")
                    .contains("\"arn\":\"arn:aws:lambda:eu-north-1:000000000000:function:shop\"")
                    .contains("\"trace\":\"Root=1-2-3\"", "\"nothing\":true", "\"current\":\"/a\"");
            assertThat(number(first, "remaining")).isBetween(1L, 60_000L);
            assertThat(second).contains("\"trace\":\"null\"", "\"current\":\"/b\"");
            assertThat(number(second, "remaining")).isEqualTo(Integer.MAX_VALUE);
            assertThat(text(first, "id")).isEqualTo(text(first, "eventId")).isNotEqualTo(text(second, "id"));
            assertThat(LambdaRequest.current()).isNull();
        }
    }

    private static long number(String json, String name) {
        return Long.parseLong(json.replaceFirst(".*\"" + name + "\":(\\d+).*", "$1"));
    }

    private static String text(String json, String name) {
        return json.replaceFirst(".*\"" + name + "\":\"([^\"]*)\".*", "$1");
    }

    /** Does what the path asks for. */
    public static class Mixed implements RequestStreamHandler {
        @Override
        public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
            String event = new String(input.readAllBytes(), StandardCharsets.UTF_8);
            if (event.contains("/throw")) {
                throw new IllegalStateException("boom");
            }
            if (event.contains("/error")) {
                throw new StackOverflowError("deep");
            }
            String result = event.contains("/malformed")
                    ? "{\"statusCode\":\"many\"}"
                    : event.contains("/empty") ? "" : "{\"statusCode\":200,\"body\":\"fine\"}";
            output.write(result.getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void should_fail_only_the_request_whose_call_throws() throws Exception {
        try (Harness harness = new Harness(handler(Mixed.class))) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/throw"), 0, true);
            ScriptedStream.Reset thrown = stream.take(ScriptedStream.Reset.class);
            assertThat(thrown.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(thrown.text()).isEmpty();
            stream.request(get("/error"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(stream.exchange(get("/")).text()).isEqualTo("fine");
        }
    }

    @Test
    void should_tell_the_dispatcher_where_the_function_returns_no_response() throws Exception {
        try (Harness harness = new Harness(handler(Mixed.class))) {
            ScriptedStream stream = harness.stream();
            for (String path : new String[] {"/malformed", "/empty"}) {
                stream.request(get(path), 0, true);
                ScriptedStream.Reset malformed = stream.take(ScriptedStream.Reset.class);
                assertThat(malformed.code()).isEqualTo(ErrorCode.BAD_MESSAGE);
                assertThat(malformed.text())
                        .isEqualTo(path.equals("/empty") ? "empty" : "statusCode is not between 200 and 999");
            }
            assertThat(stream.exchange(get("/")).status()).isEqualTo("200");
        }
    }

    @Test
    void should_refuse_a_body_beyond_the_limit_announced_or_not() throws Exception {
        FunctionHandler handler = handler(Mixed.class, FunctionHandler.MAX_BODY_VARIABLE, "10000");
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("content-length", "10001"), 0, false);
            assertThat(stream.gather().status()).isEqualTo("413");
            stream.reset(ErrorCode.CANCELLED);

            stream.request(post("/"), 0, false);
            stream.data(new byte[6_000], false);
            stream.data(new byte[4_001], false);
            ScriptedStream.Gathered refused = stream.gather();
            assertThat(refused.status()).isEqualTo("413");
            assertThat(refused.text()).contains("10000 bytes");
            stream.data(new byte[9], true);

            stream.request(post("/"), 0, false);
            stream.data(new byte[6_000], false);
            stream.data(new byte[4_000], true);
            assertThat(stream.gather().status()).isEqualTo("200");
        }
    }

    /** Each body is as large as it may be, and together they exceed the memory. */
    @Test
    void should_leave_a_request_to_another_worker_if_others_take_the_memory() throws Exception {
        FunctionHandler handler = handler(Mixed.class);
        long others = 0;
        while (handler.budget.tryTake(others, Integer.MAX_VALUE)) {
            others += Integer.MAX_VALUE;
            if (others > Runtime.getRuntime().maxMemory()) {
                break; // a body that is alone always fits
            }
        }
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), new byte[5_000], false);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.REFUSED);
            stream.reset(ErrorCode.CANCELLED);
            assertThat(handler.budget.takenBytes()).isEqualTo(others);
            handler.budget.giveBack(others);

            stream.request(post("/"), new byte[5_000], true);
            assertThat(stream.gather().text()).isEqualTo("fine");
            Await.until("the call has ended", () -> handler.budget.takenBytes() == 0);

            stream.request(post("/"), new byte[5_000], false);
            stream.link().roundTrip();
            stream.reset(ErrorCode.CANCELLED);
            stream.take(ScriptedStream.Reset.class);
            assertThat(handler.budget.takenBytes()).isZero();
        }
    }

    @Test
    void should_not_call_the_function_with_half_a_body() throws Exception {
        try (Harness harness = new Harness(handler(Waiting.class))) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/half"), 0, false);
            stream.data(new byte[5_000], false);
            stream.reset(ErrorCode.CANCELLED);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            stream.request(get("/quick"), 0, true);
            assertThat(stream.gather().text()).isEqualTo("\"quick\"");
            assertThat(SEEN).containsExactly("quick");
        }
    }

    /** Waits until it is interrupted, except for {@code /quick}. */
    public static class Waiting implements RequestHandler<Map<String, Object>, String> {
        static final CountDownLatch NEVER = new CountDownLatch(1);

        @Override
        public String handleRequest(Map<String, Object> event, Context context) {
            if (event.get("rawPath").equals("/quick")) {
                SEEN.add("quick");
                return "\"quick\"";
            }
            SEEN.add("waits " + LambdaRequest.current().isCancelled());
            try {
                NEVER.await();
            } catch (InterruptedException e) {
                SEEN.add("interrupted " + LambdaRequest.current().cancellation());
            }
            return "late";
        }
    }

    private static String seen() throws InterruptedException {
        return SEEN.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void should_interrupt_the_call_when_the_client_has_gone() throws Exception {
        try (Harness harness = new Harness(handler(Waiting.class))) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(seen()).isEqualTo("waits false");
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(seen()).isEqualTo("interrupted CANCELLED");
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(stream.exchange(get("/quick")).text()).isEqualTo("\"quick\"");
        }
    }

    @Test
    void should_interrupt_the_call_when_its_deadline_has_passed() throws Exception {
        try (Harness harness = new Harness(handler(Waiting.class))) {
            ScriptedStream stream = harness.stream();
            // The first call takes longest. A call whose request is cancelled before it starts is
            // not made.
            stream.exchange(get("/quick"));
            assertThat(seen()).isEqualTo("quick");
            stream.request(get("/"), 1_000, true);
            assertThat(seen()).isEqualTo("waits false");
            assertThat(seen()).isEqualTo("interrupted TIMEOUT");
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
        }
    }

    @Test
    void should_name_a_shape_that_does_not_exist() {
        assertThatThrownBy(() -> handler(Mixed.class, FunctionHandler.EVENT_VARIABLE, "sqs"))
                .hasMessage("LAMBDA_DISPATCHER_EVENT is 'sqs', expected one of alb, alb-multi-value, http-api-v2,"
                        + " rest-api, function-url");
    }

    @ParameterizedTest
    @ValueSource(strings = {"64MB", "-1", "1073741825", "99999999999"})
    void should_name_a_limit_that_cannot_be(String value) {
        assertThatThrownBy(() -> handler(Mixed.class, FunctionHandler.MAX_BODY_VARIABLE, value))
                .hasMessage("LAMBDA_DISPATCHER_EVENT_MAX_BODY_BYTES is '" + value
                        + "', expected a number, 0 to 1073741824");
    }
}
