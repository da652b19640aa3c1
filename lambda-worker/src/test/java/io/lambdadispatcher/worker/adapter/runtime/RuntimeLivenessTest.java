package io.lambdadispatcher.worker.adapter.runtime;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static io.lambdadispatcher.worker.adapter.runtime.RuntimeHandlerTest.STREAMING;
import static org.assertj.core.api.Assertions.assertThat;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Reset;
import io.lambdadispatcher.worker.adapter.runtime.RuntimeHandlerTest.Wire;
import io.lambdadispatcher.worker.handler.Request;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a child is killed for, and what it is not; and that no request waits for a lost answer. */
@Timeout(180)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the child is a script for a POSIX shell")
class RuntimeLivenessTest {
    @TempDir
    Path directory;

    private static RuntimePool pool(ScriptedRuntime runtime) {
        return runtime.handler.shared().pool();
    }

    /** A client may choose a deadline, for example with grpc-timeout. */
    @Test
    void should_leave_a_child_time_for_a_request_that_has_none() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 50, true);
            String id = ScriptedRuntime.id(next.get());
            assertThat(stream.take(Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
            long pid = runtime.pid();
            RuntimeHandlerTest.sweepAfterAnHour(pool(runtime), 90);
            assertThat(runtime.post("invocation/" + id + "/response", "{\"statusCode\":200}")
                            .statusCode())
                    .isEqualTo(202);
            stream.request(get("/"), 0, true);
            runtime.serve("next");
            assertThat(stream.gather().text()).isEqualTo("next");
            assertThat(runtime.pid()).isEqualTo(pid);
        }
    }

    /** The upload of the body takes most of the request's minute. */
    @Test
    void should_not_take_the_time_of_an_upload_from_the_child() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            runtime.stream();
            try (Harness harness =
                    new Harness((request, response) -> runtime.handler.handle(slowlySent(request), response))) {
                ScriptedStream stream = harness.stream();
                stream.request(post("/"), 0, false);
                stream.data(new byte[1], true);
                String id = ScriptedRuntime.id(next.get());
                long pid = runtime.pid();
                RuntimeHandlerTest.sweepAfterAnHour(pool(runtime), 300);
                assertThat(runtime.post("invocation/" + id + "/response", "{\"statusCode\":200}")
                                .statusCode())
                        .isEqualTo(202);
                assertThat(stream.take(Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
                stream.request(get("/"), 0, true);
                runtime.serve("next");
                assertThat(stream.gather().text()).isEqualTo("next");
                assertThat(runtime.pid()).isEqualTo(pid);
            }
        }
    }

    /** A request that has a minute left until its body is read, and then a second. */
    private static Request slowlySent(Request request) {
        AtomicInteger secondsLeft = new AtomicInteger(60);
        return (Request) Proxy.newProxyInstance(
                Request.class.getClassLoader(), new Class<?>[] {Request.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("remaining")) {
                        return Optional.of(Duration.ofSeconds(secondsLeft.get()));
                    }
                    if (method.getName().equals("body")) {
                        secondsLeft.set(1);
                    }
                    return method.invoke(request, arguments);
                });
    }

    @Test
    void should_replace_a_child_that_never_asks_after_it_was_started_again() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            next.get();
            runtime.crash();
            assertThat(stream.gather().status()).isEqualTo("502");
            long hanging = runtime.pid();
            RuntimeHandlerTest.sweepAfterAnHour(pool(runtime), 2_900);
            assertThat(ProcessHandle.of(hanging)).isPresent();
            // Once, because it would end the next child, too.
            RuntimeHandlerTest.sweepAfterAnHour(pool(runtime), 3_100);
            runtime.awaitReplaced(hanging);
            stream.request(get("/"), 0, true);
            runtime.serve("third");
            assertThat(stream.gather().text()).isEqualTo("third");
        }
    }

    /** Otherwise, the child would wait for an event, and the worker for the answer. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_fail_what_a_child_does_not_answer_before_it_asks_again(boolean begins) throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/forgotten"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            if (begins) {
                try (Wire wire = new Wire(runtime)) {
                    wire.post("invocation/" + id + "/response", "Expect: 100-continue\r\n");
                    assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 100 Continue");
                    wire.chunk("{\"statusCode\"");
                }
            }
            CompletableFuture<HttpResponse<String>> again = runtime.next();
            assertThat(stream.gather().status()).isEqualTo("502");
            stream.request(get("/later"), 0, true);
            assertThat(again.get().body()).contains("\"rawPath\":\"/later\"");
        }
    }

    /** Such as a script that starts two processes of one runtime. */
    @Test
    void should_leave_a_child_that_asks_in_two_ways_what_it_works_on() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> one = runtime.next();
            CompletableFuture<HttpResponse<String>> other = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/first"), 0, true);
            CompletableFuture.anyOf(one, other).get();
            CompletableFuture<HttpResponse<String>> waiting = one.isDone() ? other : one;
            String first = ScriptedRuntime.id(one.isDone() ? one.get() : other.get());
            runtime.post("invocation/" + first + "/response", "{\"statusCode\":200,\"body\":\"first\"}");
            assertThat(stream.gather().text()).isEqualTo("first");

            stream.request(get("/second"), 0, true);
            String second = ScriptedRuntime.id(waiting.get());
            CompletableFuture<HttpResponse<String>> again = runtime.next();
            Await.remains("the second is worked on", Duration.ofMillis(300), () -> !again.isDone());
            runtime.post("invocation/" + second + "/response", "{\"statusCode\":200,\"body\":\"second\"}");
            assertThat(stream.gather().text()).isEqualTo("second");
        }
    }

    @Test
    void should_answer_a_client_whose_streamed_answer_cannot_begin() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            try (Wire wire = new Wire(runtime)) {
                String tooLong = "Content-Type: text/" + "x".repeat(300 * 1024) + "\r\n";
                wire.post("invocation/" + id + "/response", STREAMING + tooLong).end("");
                assertThat(stream.gather().status()).isEqualTo("502");
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
            }
            stream.request(get("/"), 0, true);
            runtime.serve("next");
            assertThat(stream.gather().text()).isEqualTo("next");
        }
    }

    /** Node's client accepts 16 KiB of headers. */
    @ParameterizedTest
    @ValueSource(strings = {"no root", "Root=1-2-3\u00e9", "Root=1-2-3\t4", "long"})
    void should_make_a_new_trace_if_the_client_sends_none_that_the_child_can_read(String sent) throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            String trace = sent.equals("long") ? "Root=" + "1".repeat(252) : sent;
            runtime.stream().request(get("/").set("x-amzn-trace-id", trace), 0, true);
            assertThat(next.get()
                            .headers()
                            .firstValue("lambda-runtime-trace-id")
                            .orElse(""))
                    .matches("Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0");
        }
    }

    /** Lambda has been told that the invocation failed, and may have retried it. */
    @Test
    void should_not_run_an_invocation_whose_thread_was_interrupted_while_it_waited() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/first"), 0, true);
            String first = ScriptedRuntime.id(next.get());
            Context context = RuntimeHandlerTest.proxy(
                    Context.class,
                    Map.of(
                            "getAwsRequestId", "id-1",
                            "getInvokedFunctionArn", "arn",
                            "getRemainingTimeInMillis", 60_000));
            CountDownLatch failed = new CountDownLatch(1);
            Thread invoking = new Thread(() -> {
                Thread.currentThread().interrupt();
                try {
                    runtime.handler.handleRequest(
                            new ByteArrayInputStream("1".getBytes(StandardCharsets.UTF_8)),
                            new ByteArrayOutputStream(),
                            context);
                } catch (IOException e) {
                    failed.countDown();
                }
            });
            invoking.start();
            failed.await();
            runtime.post("invocation/" + first + "/response", "{\"statusCode\":200}");
            assertThat(stream.gather().status()).isEqualTo("200");
            stream.request(get("/second"), 0, true);
            assertThat(runtime.next().get().body()).contains("\"rawPath\":\"/second\"");
        }
    }

    /** The JVM then prefers another loopback address than the one that children are told. */
    @Test
    void should_be_reached_by_children_if_the_jvm_prefers_ipv6() throws Exception {
        Process worker = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djava.net.preferIPv6Addresses=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        PrefersIpv6.class.getName(),
                        directory.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(worker.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(output).contains("status=200");
    }

    /** Asks a child's Runtime API for an invocation. */
    static final class PrefersIpv6 {
        public static void main(String[] arguments) throws Exception {
            try (ScriptedRuntime runtime = new ScriptedRuntime(Path.of(arguments[0]));
                    Wire wire = new Wire(runtime)) {
                wire.raw("GET /2018-06-01/runtime/restore/next HTTP/1.1\r\nHost: x\r\n\r\n");
                System.out.println("status=" + wire.statusLine().split(" ")[1]);
            } finally {
                System.out.flush();
                Runtime.getRuntime().halt(0);
            }
        }
    }
}
