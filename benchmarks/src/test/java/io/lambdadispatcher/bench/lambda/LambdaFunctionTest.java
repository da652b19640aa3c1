package io.lambdadispatcher.bench.lambda;

import static org.assertj.core.api.Assertions.assertThat;

import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Uses real threads for environments. They wait for a semaphore that the test releases. */
@Timeout(120)
class LambdaFunctionTest {
    private static final long LONG_MILLIS = 60_000;

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final Semaphore started = new Semaphore(0);
    private final Semaphore released = new Semaphore(0);
    private final AtomicInteger handlers = new AtomicInteger();
    private final AtomicInteger coldStarts = new AtomicInteger();

    /** Returns its input when the semaphore permits it. */
    private final RequestStreamHandler held = (input, output, context) -> {
        started.release();
        released.acquireUninterruptibly();
        input.transferTo(output);
    };

    @AfterEach
    void stop() {
        timer.shutdownNow();
        released.release(1000);
    }

    private LambdaFunction function(int environments, long timeoutMillis, RequestStreamHandler handler) {
        return function(environments, timeoutMillis, () -> {
            handlers.incrementAndGet();
            return handler;
        });
    }

    private LambdaFunction function(int environments, long timeoutMillis, Supplier<RequestStreamHandler> made) {
        return new LambdaFunction(
                "f", new LambdaFunction.Limits(environments, timeoutMillis), coldStarts::incrementAndGet, made, timer);
    }

    @Test
    void should_give_each_environment_one_invocation_at_a_time() throws Exception {
        LambdaFunction function = function(3, LONG_MILLIS, held);

        CompletableFuture<InvokeResult> first = function.invoke(bytes("a"));
        CompletableFuture<InvokeResult> second = function.invoke(bytes("b"));
        started.acquire(2);

        assertThat(function.count().environments()).isEqualTo(2);
        released.release(2);
        assertThat(text(first)).isEqualTo("a");
        assertThat(text(second)).isEqualTo("b");
        assertThat(handlers).hasValue(2);
    }

    @Test
    void should_start_cold_only_where_no_environment_is_free() throws Exception {
        LambdaFunction function = function(3, LONG_MILLIS, held);
        released.release(5);

        for (int i = 0; i < 5; i++) {
            assertThat(text(function.invoke(bytes("x")))).isEqualTo("x");
        }

        assertThat(function.count()).isEqualTo(new LambdaFunction.Count(1, 5, 1, 0, 0));
        assertThat(coldStarts).hasValue(1);
    }

    @Test
    void should_serve_nothing_before_the_cold_start_is_over() throws Exception {
        Semaphore warm = new Semaphore(0);
        LambdaFunction function =
                new LambdaFunction("f", new LambdaFunction.Limits(1, LONG_MILLIS), warm::acquire, () -> held, timer);
        released.release();

        CompletableFuture<InvokeResult> result = function.invoke(bytes("x"));

        assertThat(started.tryAcquire(20, TimeUnit.MILLISECONDS)).isFalse();
        warm.release();
        assertThat(text(result)).isEqualTo("x");
    }

    @Test
    void should_throttle_beyond_the_limit_and_no_longer_than_that() throws Exception {
        LambdaFunction function = function(1, LONG_MILLIS, held);
        CompletableFuture<InvokeResult> first = function.invoke(bytes("a"));

        InvokeResult throttled = result(function.invoke(bytes("b")));
        released.release(2);
        text(first);

        assertThat(throttled.status()).isEqualTo(429);
        assertThat(throttled.errorType()).isEqualTo("TooManyRequestsException");
        assertThat(text(throttled)).contains("\"Reason\":\"ReservedFunctionConcurrentInvocationLimitExceeded\"");
        assertThat(text(function.invoke(bytes("c")))).isEqualTo("c");
        assertThat(function.count()).isEqualTo(new LambdaFunction.Count(1, 2, 1, 1, 0));
    }

    @Test
    void should_refuse_a_payload_of_more_than_six_megabytes() throws Exception {
        LambdaFunction function = function(1, LONG_MILLIS, held);
        released.release(2);

        InvokeResult refused = result(function.invoke(new byte[InvokeResult.LARGEST_PAYLOAD_BYTES + 1]));

        assertThat(refused.status()).isEqualTo(413);
        assertThat(refused.errorType()).isEqualTo("RequestTooLargeException");
        assertThat(text(refused)).contains("6291457 byte payload", "limit 6291456 bytes");
        assertThat(result(function.invoke(new byte[InvokeResult.LARGEST_PAYLOAD_BYTES]))
                        .status())
                .isEqualTo(200);
    }

    @Test
    void should_fail_where_the_response_is_too_large() throws Exception {
        LambdaFunction function = function(
                1,
                LONG_MILLIS,
                (input, output, context) -> output.write(new byte[InvokeResult.LARGEST_RESPONSE_BYTES + 1]));

        InvokeResult failed = result(function.invoke(bytes("x")));

        assertThat(failed.status()).isEqualTo(200);
        assertThat(failed.functionError()).isEqualTo("Unhandled");
        assertThat(text(failed)).contains("Function.ResponseSizeTooLarge");
    }

    @Test
    void should_say_what_the_function_threw_and_keep_the_environment() throws Exception {
        LambdaFunction function = function(1, LONG_MILLIS, (input, output, context) -> {
            throw new IllegalStateException("a \"reason\"");
        });

        InvokeResult failed = result(function.invoke(bytes("x")));
        result(function.invoke(bytes("x")));

        assertThat(failed.functionError()).isEqualTo("Unhandled");
        assertThat(text(failed))
                .isEqualTo("{\"errorMessage\":\"a \\\"reason\\\"\",\"errorType\":\"java.lang.IllegalStateException\"}");
        assertThat(function.count().coldStarts()).isEqualTo(1);
    }

    @Test
    void should_give_an_environment_up_with_the_invocation_that_takes_too_long() throws Exception {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        LambdaFunction function = function(1, 1_000, (input, output, context) -> {
            threads.add(Thread.currentThread());
            if (input.read() == 'h') {
                new Semaphore(0).acquireUninterruptibly();
            }
        });

        InvokeResult late = result(function.invoke(bytes("hang")));

        assertThat(late.functionError()).isEqualTo("Unhandled");
        assertThat(text(late)).contains("Sandbox.Timedout", "Task timed out after 1.00 seconds");
        assertThat(function.count().environments()).isZero();
        assertThat(result(function.invoke(bytes("ok"))).functionError()).isEmpty();
        assertThat(threads).hasSize(2);
        assertThat(function.count()).isEqualTo(new LambdaFunction.Count(1, 2, 2, 0, 1));
    }

    @Test
    void should_fail_an_invocation_whose_environment_does_not_come_up_and_try_again_with_the_next() throws Exception {
        LambdaFunction function = function(1, LONG_MILLIS, () -> {
            if (handlers.incrementAndGet() == 1) {
                throw new IllegalArgumentException("no setting");
            }
            return held;
        });
        released.release(1);

        assertThat(text(function.invoke(bytes("a")))).contains("no setting");
        assertThat(text(function.invoke(bytes("b")))).isEqualTo("b");
    }

    private static InvokeResult result(CompletableFuture<InvokeResult> result) throws Exception {
        return result.get(20, TimeUnit.SECONDS);
    }

    private static String text(CompletableFuture<InvokeResult> result) throws Exception {
        return text(result(result));
    }

    private static String text(InvokeResult result) {
        return new String(result.payload(), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
