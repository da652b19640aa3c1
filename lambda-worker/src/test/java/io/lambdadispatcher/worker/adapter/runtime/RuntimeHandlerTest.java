package io.lambdadispatcher.worker.adapter.runtime;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Client;
import com.amazonaws.services.lambda.runtime.ClientContext;
import com.amazonaws.services.lambda.runtime.CognitoIdentity;
import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.HeaderBytes;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Data;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.lambdadispatcher.worker.ScriptedStream.Head;
import io.lambdadispatcher.worker.ScriptedStream.Reset;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetric;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.netty.util.AsciiString;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.Socket;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The tests play both the runtime and the dispatcher. */
@Timeout(180)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the child is a script for a POSIX shell")
class RuntimeHandlerTest {
    static final String STREAMING = "Lambda-Runtime-Function-Response-Mode: streaming\r\n";
    private static final String INTEGRATION =
            STREAMING + "Content-Type: application/vnd.awslambda.http-integration-response\r\n";
    private static final String ZEROS = "\0\0\0\0\0\0\0\0";

    @TempDir
    Path directory;

    /**
     * A connection of a child's runtime client that is written by hand, because the JDK's client
     * sends neither trailers nor bodies in pieces.
     */
    static final class Wire implements AutoCloseable {
        final Socket socket;
        final OutputStream out;

        Wire(ScriptedRuntime runtime) throws Exception {
            String[] address = runtime.authority().split(":");
            socket = new Socket(address[0], Integer.parseInt(address[1]));
            socket.setSoTimeout(60_000);
            socket.setTcpNoDelay(true);
            out = socket.getOutputStream();
        }

        Wire post(String resource, String headers) throws Exception {
            return raw("POST /2018-06-01/runtime/" + resource + " HTTP/1.1\r\nHost: x\r\n" + headers
                    + "Transfer-Encoding: chunked\r\n\r\n");
        }

        Wire raw(String text) throws Exception {
            out.write(text.getBytes(StandardCharsets.ISO_8859_1));
            out.flush();
            return this;
        }

        Wire chunk(String text) throws Exception {
            return raw(Integer.toHexString(text.length()) + "\r\n" + text + "\r\n");
        }

        Wire end(String trailers) throws Exception {
            return raw("0\r\n" + trailers + "\r\n");
        }

        String statusLine() throws Exception {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int single = socket.getInputStream().read();
                    single != '\n' && single >= 0;
                    single = socket.getInputStream().read()) {
                line.write(single);
            }
            return line.toString(StandardCharsets.ISO_8859_1).trim();
        }

        @Override
        public void close() throws Exception {
            socket.close();
        }
    }

    @Test
    void should_give_a_request_as_an_event_and_its_answer_back() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(post("/a?b=c").set("content-type", "text/plain"), 60_000, false);
            stream.data("hello".getBytes(StandardCharsets.UTF_8), true);
            HttpResponse<String> invocation = next.get();

            assertThat(invocation.statusCode()).isEqualTo(200);
            assertThat(invocation.body())
                    .contains("\"rawPath\":\"/a\"", "\"rawQueryString\":\"b=c\"", "\"body\":\"hello\"");
            assertThat(invocation.headers().firstValue("content-type")).contains("application/json");
            assertThat(invocation.headers().firstValue("lambda-runtime-invoked-function-arn"))
                    .contains("arn:aws:lambda:eu-central-1:000000000000:function:shop");
            assertThat(invocation
                            .headers()
                            .firstValue("lambda-runtime-trace-id")
                            .orElse(""))
                    .matches("Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=0");
            long left = invocation
                            .headers()
                            .firstValueAsLong("lambda-runtime-deadline-ms")
                            .orElseThrow()
                    - System.currentTimeMillis();
            assertThat(left).isBetween(1L, 60_000L);

            HttpResponse<String> taken = runtime.post(
                    "invocation/" + ScriptedRuntime.id(invocation) + "/response",
                    "{\"statusCode\":201,\"headers\":{\"X-A\":\"b\"},\"cookies\":[\"c=1\",\"d=2\"],\"body\":\"aGk=\",\"isBase64Encoded\":true}");
            assertThat(taken.statusCode()).isEqualTo(202);
            assertThat(taken.body()).contains("\"status\":\"OK\"");
            Gathered response = stream.gather();
            assertThat(response.status()).isEqualTo("201");
            assertThat(response.text()).isEqualTo("hi");
            assertThat(response.head().headers().getAll("set-cookie")).hasToString("[c=1, d=2]");
        }
    }

    @Test
    void should_pass_a_trace_on() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            runtime.stream().request(get("/").set("x-amzn-trace-id", "Root=1-2-3"), 0, true);
            assertThat(next.get().headers().firstValue("lambda-runtime-trace-id"))
                    .contains("Root=1-2-3");
        }
    }

    @Test
    void should_make_a_502_of_a_function_error_and_of_an_answer_that_is_none() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_EVENT", "alb"))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            HttpResponse<String> taken = runtime.post(
                    "invocation/" + id + "/error",
                    "{\"errorMessage\":\"secret\",\"errorType\":\"E\"}",
                    "Lambda-Runtime-Function-Error-Type",
                    "Handler.E");
            assertThat(taken.statusCode()).isEqualTo(202);
            Gathered response = stream.gather();
            assertThat(response.status()).isEqualTo("502");
            assertThat(response.text()).doesNotContain("secret");

            stream.request(get("/"), 0, true);
            runtime.post("invocation/" + ScriptedRuntime.id(runtime.next().get()) + "/response", "[1,2]");
            assertThat(stream.gather().status()).isEqualTo("502");
        }
    }

    @Test
    void should_refuse_what_breaks_the_protocol_and_serve_on() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_MAX_BYTES", "4000"))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            HttpResponse<String> unknown = runtime.post("invocation/no-such-id/response", "{}");
            assertThat(unknown.statusCode()).isEqualTo(400);
            assertThat(unknown.body()).contains("\"errorType\":\"InvalidRequestID\"");
            assertThat(runtime.post("nowhere", "").statusCode()).isEqualTo(404);
            assertThat(runtime.send(runtime.request("restore/next").GET().build())
                            .statusCode())
                    .isEqualTo(200);

            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            HttpResponse<String> large = runtime.post("invocation/" + id + "/response", "x".repeat(5_000));
            assertThat(large.statusCode()).isEqualTo(413);
            assertThat(large.body()).contains("\"errorType\":\"RequestEntityTooLarge\"");
            assertThat(stream.gather().status()).isEqualTo("502");
            assertThat(runtime.post("invocation/" + id + "/response", "{}").statusCode())
                    .isEqualTo(400);

            stream.request(post("/").set("content-type", "text/plain"), 0, false);
            stream.data(new byte[5_000], true);
            assertThat(stream.gather().status()).isEqualTo("413");
            // The body fits as text, but not in base64.
            stream.request(post("/"), 0, false);
            stream.data(new byte[3_500], true);
            assertThat(stream.gather().status()).isEqualTo("413");

            stream.request(get("/"), 0, true);
            try (Wire wire = new Wire(runtime)) {
                String second = ScriptedRuntime.id(runtime.next().get());
                wire.post("invocation/" + second + "/response", "");
                wire.chunk("{\"statusCode\":").chunk("y".repeat(4_000));
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 413 Request Entity Too Large");
                assertThat(stream.gather().status()).isEqualTo("502");
            }
            stream.request(get("/"), 0, true);
            runtime.serve("fine");
            assertThat(stream.gather().text()).isEqualTo("fine");
        }
    }

    @Test
    void should_take_an_answer_again_that_broke_off() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/" + id + "/response", "").chunk("{\"statusCode\"");
                // Sent on another connection: the first request may have been read by now or not.
                while (runtime.post("invocation/" + id + "/nothing", "").statusCode() != 404) {}
            }
            HttpResponse<String> taken;
            do {
                taken = runtime.post("invocation/" + id + "/response", "{\"statusCode\":204}");
            } while (taken.statusCode() == 403);
            assertThat(taken.statusCode()).isEqualTo(202);
            assertThat(stream.gather().status()).isEqualTo("204");
        }
    }

    @Test
    void should_answer_curl_that_asks_before_it_sends() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            try (Wire wire = new Wire(runtime)) {
                wire.raw("POST /2018-06-01/runtime/invocation/" + id
                        + "/response HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 18\r\n\r\n");
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 100 Continue");
                assertThat(wire.statusLine()).isEmpty();
                wire.raw("{\"statusCode\":204}");
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
                while (!wire.statusLine().startsWith("{")) {}
                wire.raw("GET /2018-06-01/runtime/restore/next HTTP/1.1\r\nHost: x\r\n\r\n");
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 200 OK");
            }
            assertThat(stream.gather().status()).isEqualTo("204");
        }
    }

    /** @return everything that arrives until the connection ends */
    private static String answerToOneWhoAsks(ScriptedRuntime runtime, String resource, int bytes) throws Exception {
        try (Wire wire = new Wire(runtime)) {
            wire.raw("POST /2018-06-01/runtime/" + resource
                    + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: " + bytes + "\r\n\r\n");
            return new String(wire.socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }

    @Test
    void should_end_the_connection_of_one_who_asks_before_it_sends_and_is_refused() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_MAX_BYTES", "4000"))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String response = "invocation/" + ScriptedRuntime.id(next.get()) + "/response";

            assertThat(answerToOneWhoAsks(runtime, response, 5_000))
                    .startsWith("HTTP/1.1 413 ")
                    .contains("connection: close");
            assertThat(stream.gather().status()).isEqualTo("502");
            assertThat(answerToOneWhoAsks(runtime, response, 10)).startsWith("HTTP/1.1 400 ");
            assertThat(answerToOneWhoAsks(runtime, "nowhere", 10)).startsWith("HTTP/1.1 404 ");
        }
    }

    /** The child reads text, and the client gets the UTF-8 of the text that it returns. */
    @ParameterizedTest
    @EnumSource
    void should_carry_any_bytes_as_text(EventFormat format) throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        Map<String, String> variables = Map.of("LAMBDA_DISPATCHER_EVENT", format.text());
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory, variables)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            for (int i = 0; i < 20; i++) {
                byte[] bytes = HeaderBytes.random(random);
                String text = HeaderBytes.text(bytes);
                stream.request(get("/").add("x-a", HeaderBytes.value("", bytes)), 0, true);
                HttpResponse<String> invocation = next.get();
                String round = format + ", round " + i + " of seed " + seed;
                assertThat(invocation.body()).as(round).contains("\"" + text + "\"");
                Map<String, Object> response = Map.of(
                        "statusCode", 200,
                        "headers", Map.of("x-b", text),
                        "multiValueHeaders", Map.of("x-b", List.of(text)));
                runtime.post("invocation/" + ScriptedRuntime.id(invocation) + "/response", Json.write(response));
                assertThat(AsciiString.of(stream.gather().head().headers().get("x-b"))
                                .toByteArray())
                        .as(round)
                        .isEqualTo(text.getBytes(StandardCharsets.UTF_8));
                next = runtime.next();
            }
        }
    }

    // Streams.

    @Test
    void should_pass_a_streamed_answer_on_as_it_comes() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/" + ScriptedRuntime.id(next.get()) + "/response", INTEGRATION);
                wire.chunk("{\"statusCode\":418,\"headers\":{\"content-type\":\"text/event-stream\"},");
                wire.chunk("\"cookies\":[\"a=b\"]}" + ZEROS.substring(3)).chunk(ZEROS.substring(5) + "one");
                Head head = stream.take(Head.class);
                assertThat(head.headers().status()).hasToString("418");
                assertThat(head.headers().get("content-type")).hasToString("text/event-stream");
                assertThat(head.headers().get("set-cookie")).hasToString("a=b");
                assertThat(head.headers().contains("content-length")).isFalse();
                // Arrives before the next part is written.
                assertThat(stream.take(Data.class).content()).asString().isEqualTo("one");
                wire.chunk("two");
                assertThat(stream.take(Data.class).content()).asString().isEqualTo("two");
                wire.end("");
                assertThat(stream.take(Data.class).end()).isTrue();
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
            }
            stream.request(get("/"), 0, true);
            runtime.serve("next");
            assertThat(stream.gather().text()).isEqualTo("next");
        }
    }

    @Test
    void should_stream_what_has_no_prelude_as_it_is() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            try (Wire wire = new Wire(runtime)) {
                wire.post(
                        "invocation/" + ScriptedRuntime.id(next.get()) + "/response",
                        STREAMING + "Content-Type: text/x\r\n");
                wire.chunk("body").end("");
                Gathered response = stream.gather();
                assertThat(response.status()).isEqualTo("200");
                assertThat(response.head().headers().get("content-type")).hasToString("text/x");
                assertThat(response.text()).isEqualTo("body");
            }
        }
    }

    @Test
    void should_know_a_stream_by_its_content_type_as_the_client_of_go_sends_it() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            try (Wire wire = new Wire(runtime)) {
                wire.post(
                        "invocation/" + ScriptedRuntime.id(next.get()) + "/response",
                        INTEGRATION.substring(STREAMING.length()));
                wire.chunk("{\"statusCode\":203}" + ZEROS + "body").end("");
                Gathered response = stream.gather();
                assertThat(response.status()).isEqualTo("203");
                assertThat(response.text()).isEqualTo("body");
            }
        }
    }

    @Test
    void should_break_a_stream_that_fails_in_its_trailers() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/" + ScriptedRuntime.id(next.get()) + "/response", STREAMING);
                wire.chunk("half");
                stream.take(Head.class);
                stream.take(Data.class);
                wire.end("Lambda-Runtime-Function-Error-Type: Oops\r\nLambda-Runtime-Function-Error-Body: aGk=\r\n");
                Reset reset = stream.take(Reset.class);
                assertThat(reset.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
                assertThat(reset.text()).isEqualTo("Oops hi");
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
            }
        }
    }

    @Test
    void should_make_a_502_of_a_stream_without_a_usable_prelude() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            for (String body : new String[] {"", "{\"statusCode\":200}", "{]" + ZEROS + "x", "[]" + ZEROS}) {
                stream.request(get("/"), 0, true);
                try (Wire wire = new Wire(runtime)) {
                    wire.post("invocation/" + ScriptedRuntime.id(next.get()) + "/response", INTEGRATION);
                    if (!body.isEmpty()) {
                        wire.chunk(body);
                    }
                    wire.end("");
                    assertThat(stream.gather().status()).as(body).isEqualTo("502");
                    assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
                }
                next = runtime.next();
            }
        }
    }

    /** A stream of events never ends by itself. The Runtime API cannot tell the child to end it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_break_the_stream_of_a_client_that_has_left(boolean beforeItBegins) throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            try (Wire wire = new Wire(runtime)) {
                if (beforeItBegins) {
                    stream.cancel(ErrorCode.CANCELLED);
                    stream.take(Reset.class);
                }
                wire.post("invocation/" + id + "/response", STREAMING).chunk("event");
                if (!beforeItBegins) {
                    stream.take(Head.class);
                    stream.take(Data.class);
                    stream.cancel(ErrorCode.CANCELLED);
                    stream.take(Reset.class);
                }
                long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                assertThatThrownBy(() -> {
                            while (System.nanoTime() < endNanos) {
                                wire.chunk("event");
                            }
                        })
                        .isInstanceOf(IOException.class);
            }
            // The child may report that its stream broke.
            assertThat(runtime.post("invocation/" + id + "/error", "{}").statusCode())
                    .isEqualTo(202);
            CompletableFuture<HttpResponse<String>> again = runtime.next();
            stream.request(get("/"), 0, true);
            runtime.post("invocation/" + ScriptedRuntime.id(again.get()) + "/response", "{\"statusCode\":204}");
            assertThat(stream.take(Head.class).headers().status()).hasToString("204");
        }
    }

    @Test
    void should_hold_a_stream_back_for_a_slow_client_and_let_it_go_when_the_client_leaves() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.holdsWindow = true;
            stream.countsOnly = true;
            stream.request(get("/"), 0, true);
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/" + ScriptedRuntime.id(next.get()) + "/response", STREAMING);
                String chunk = "z".repeat(65_536);
                long most = 16L << 20;
                CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> {
                    try {
                        for (long sent = 0; sent < most; sent += chunk.length()) {
                            wire.chunk(chunk);
                        }
                        wire.end("");
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                });
                stream.awaitBody(60_000);
                assertThat(writing).isNotDone();
                stream.cancel(ErrorCode.CANCELLED);
                writing.get();
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
                assertThat(stream.bodyBytes.get()).isLessThan(most / 2);
            }
        }
    }

    @Test
    void should_go_on_reading_a_connection_whose_stream_ended_while_it_was_held_back() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            try (Wire wire = new Wire(runtime)) {
                CompletableFuture<HttpResponse<String>> next = runtime.next();
                ScriptedStream stream = runtime.stream();
                // At some size in this range, the response reaches its bound, sometimes with the
                // last bytes.
                for (int bytes = 250_000; bytes < 410_000; bytes += 8_192) {
                    stream.request(get("/"), 0, true);
                    String id = ScriptedRuntime.id(next.get());
                    stream.holdsWindow = true;
                    wire.post("invocation/" + id + "/response", STREAMING);
                    wire.raw(Integer.toHexString(bytes) + "\r\n" + "z".repeat(bytes) + "\r\n0\r\n\r\n");
                    stream.awaitBody(20_000);
                    stream.releaseWindow();
                    assertThat(stream.gather().body()).hasSize(bytes);
                    stream.bodyBytes.set(0);
                    assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
                    while (!wire.statusLine().startsWith("{")) {}
                    next = runtime.next();
                }
            }
        }
    }

    // Queueing, exits and hangs.

    @Test
    void should_serve_what_waits_in_turn_and_refuse_what_is_too_much() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_QUEUE", "2"))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            var link = runtime.harness().dispatcher.takeReady();
            ScriptedStream[] streams = new ScriptedStream[4];
            for (int i = 0; i < 4; i++) {
                streams[i] = link.takeStream();
            }
            streams[0].request(get("/0"), 0, true);
            String first = ScriptedRuntime.id(next.get());
            for (int i = 1; i < 4; i++) {
                streams[i].request(get("/" + i), 0, true);
            }
            assertThat(streams[3].take(Reset.class).code()).isEqualTo(ErrorCode.REFUSED);
            streams[1].cancel(ErrorCode.CANCELLED);
            streams[1].take(Reset.class);
            runtime.post("invocation/" + first + "/response", "{\"statusCode\":200,\"body\":\"0\"}");
            assertThat(streams[0].gather().text()).isEqualTo("0");
            assertThat(runtime.next().get().body()).contains("\"rawPath\":\"/2\"");
        }
    }

    @Test
    void should_let_one_wait_of_any_size_and_more_up_to_a_sum_of_bytes() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_QUEUE_BYTES", "1"))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            var link = runtime.harness().dispatcher.takeReady();
            ScriptedStream[] streams = new ScriptedStream[4];
            for (int i = 0; i < 4; i++) {
                streams[i] = link.takeStream();
            }
            streams[0].request(get("/0"), 0, true);
            String first = ScriptedRuntime.id(next.get());
            streams[1].request(get("/1"), 0, true);
            streams[2].request(get("/2"), 0, true);
            assertThat(streams[2].take(Reset.class).code()).isEqualTo(ErrorCode.REFUSED);
            streams[1].cancel(ErrorCode.CANCELLED);
            streams[1].take(Reset.class);
            // There is room again.
            streams[3].request(get("/3"), 0, true);
            runtime.post("invocation/" + first + "/response", "{\"statusCode\":200,\"body\":\"0\"}");
            assertThat(streams[0].gather().text()).isEqualTo("0");
            runtime.serve("3");
            assertThat(streams[3].gather().text()).isEqualTo("3");
            streams[2].request(get("/2"), 0, true);
            runtime.serve("2");
            assertThat(streams[2].gather().text()).isEqualTo("2");
        }
    }

    /** Invokes the handler as Lambda does for an event of a queue. */
    private static CompletableFuture<String> invoke(ScriptedRuntime runtime, String id) {
        return invoke(runtime, id, Map.of());
    }

    /** Returns an object whose methods return these values, by name, or null. */
    static <T> T proxy(Class<T> type, Map<String, ?> values) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> values.get(method.getName())));
    }

    private static CompletableFuture<String> invoke(ScriptedRuntime runtime, String id, Map<String, Object> more) {
        Map<String, Object> values = new HashMap<>(more);
        values.put("getAwsRequestId", id);
        values.put("getInvokedFunctionArn", "arn:of:the:invoke");
        values.put("getRemainingTimeInMillis", 60_000);
        Context context = proxy(Context.class, values);
        Executor blocking = call -> new Thread(call, "invoke").start();
        return CompletableFuture.supplyAsync(
                () -> {
                    ByteArrayOutputStream answer = new ByteArrayOutputStream();
                    try {
                        runtime.handler.handleRequest(new ByteArrayInputStream(new byte[] {'1'}), answer, context);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                    return answer.toString(StandardCharsets.UTF_8);
                },
                blocking);
    }

    @Test
    void should_say_who_invokes() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            Client client = proxy(Client.class, Map.of("getInstallationId", "i-1", "getAppTitle", "Caf\u00e9"));
            Map<String, Object> caller = Map.of(
                    "getClientContext",
                    proxy(ClientContext.class, Map.of("getClient", client, "getCustom", Map.of("a", "b"))),
                    "getIdentity",
                    proxy(CognitoIdentity.class, Map.of("getIdentityId", "eu:1", "getIdentityPoolId", "eu:2")));
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            CompletableFuture<String> known = invoke(runtime, "id-1", caller);
            HttpHeaders headers = next.get().headers();
            assertThat(headers.firstValue("lambda-runtime-client-context"))
                    .contains("{\"client\":{\"installation_id\":\"i-1\",\"app_title\":\"Caf\\u00E9\"},"
                            + "\"custom\":{\"a\":\"b\"}}");
            assertThat(headers.firstValue("lambda-runtime-cognito-identity"))
                    .contains("{\"cognitoIdentityId\":\"eu:1\",\"cognitoIdentityPoolId\":\"eu:2\"}");
            runtime.post("invocation/id-1/response", "1");
            assertThat(known.get()).isEqualTo("1");

            next = runtime.next();
            CompletableFuture<String> unknown =
                    invoke(runtime, "id-2", Map.of("getIdentity", proxy(CognitoIdentity.class, Map.of())));
            assertThat(next.get().headers().map())
                    .doesNotContainKeys("lambda-runtime-client-context", "lambda-runtime-cognito-identity");
            runtime.post("invocation/id-2/response", "2");
            assertThat(unknown.get()).isEqualTo("2");
        }
    }

    @Test
    void should_gather_a_streamed_answer_to_an_invoke_up_to_the_limit() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_MAX_BYTES", "8"))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            CompletableFuture<String> whole = invoke(runtime, "id-1");
            next.get();
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/id-1/response", STREAMING);
                wire.chunk("1234").chunk("5678").end("");
                assertThat(whole.get()).isEqualTo("12345678");
            }
            next = runtime.next();
            CompletableFuture<String> tooLarge = invoke(runtime, "id-2");
            next.get();
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/id-2/response", STREAMING);
                wire.chunk("1234").chunk("56789").chunk("0").end("");
                assertThat(tooLarge)
                        .failsWithin(Duration.ofSeconds(20))
                        .withThrowableThat()
                        .withMessageContaining("a response of more than 8 bytes");
                assertThat(wire.statusLine()).isEqualTo("HTTP/1.1 202 Accepted");
            }
        }
    }

    /** Otherwise, a stream without an end would keep the child busy. */
    @Test
    void should_stop_a_streamed_answer_to_an_invoke_beyond_the_limit() throws Exception {
        try (ScriptedRuntime runtime =
                        new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_MAX_BYTES", "8"));
                Wire wire = new Wire(runtime)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            CompletableFuture<String> tooLarge = invoke(runtime, "id-1");
            next.get();
            wire.post("invocation/id-1/response", STREAMING).chunk("123456789").chunk("0");
            assertThat(wire.socket.getInputStream().read()).isEqualTo(-1);
            assertThat(tooLarge)
                    .failsWithin(Duration.ofSeconds(20))
                    .withThrowableThat()
                    .withMessageContaining("a response of more than 8 bytes");
        }
    }

    @Test
    void should_refuse_an_invoke_with_the_id_of_one_that_its_child_works_on() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", "2"))) {
            CompletableFuture<HttpResponse<String>> one = runtime.next();
            CompletableFuture<HttpResponse<String>> other = runtime.next();
            CompletableFuture<String> earlier = invoke(runtime, "id-1");
            CompletableFuture.anyOf(one, other).get();

            assertThat(invoke(runtime, "id-1"))
                    .failsWithin(Duration.ofSeconds(20))
                    .withThrowableThat()
                    .withMessageContaining("already runs the invocation id-1");
            runtime.post("invocation/id-1/response", "[2]");
            assertThat(earlier.get()).isEqualTo("[2]");
            // The connection that the rejected invocation would have used is free.
            CompletableFuture<String> later = invoke(runtime, "id-1");
            CompletableFuture.allOf(one, other).get();
            runtime.post("invocation/id-1/response", "[3]");
            assertThat(later.get()).isEqualTo("[3]");
        }
    }

    @Test
    void should_give_a_child_as_many_at_once_as_it_may_hold_and_no_more() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", "2"))) {
            assertThat(runtime.maxConcurrency()).isEqualTo("2");
            CompletableFuture<HttpResponse<String>> first = runtime.next();
            CompletableFuture<HttpResponse<String>> second = runtime.next();
            CompletableFuture<HttpResponse<String>> third = runtime.next();
            var link = runtime.harness().dispatcher.takeReady();
            for (int i = 0; i < 3; i++) {
                link.takeStream().request(get("/" + i), 0, true);
            }
            CompletableFuture.anyOf(
                            CompletableFuture.allOf(first, second),
                            CompletableFuture.allOf(second, third),
                            CompletableFuture.allOf(first, third))
                    .get();
            assertThat(List.of(first, second, third))
                    .filteredOn(CompletableFuture::isDone)
                    .hasSize(2);
            HttpResponse<String> any = first.isDone() ? first.get() : second.get();
            runtime.post("invocation/" + ScriptedRuntime.id(any) + "/response", "{\"statusCode\":204}");
            CompletableFuture.allOf(first, second, third).get();
        }
    }

    @Test
    void should_give_nothing_to_a_connection_that_has_asked_and_gone() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            Wire gone = new Wire(runtime);
            gone.raw("GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n");
            ScriptedStream stream = runtime.stream();
            gone.close();
            // This request reaches the same event loop after the end of the connection.
            assertThat(runtime.post("nowhere", "").statusCode()).isEqualTo(404);
            stream.request(get("/"), 0, true);
            runtime.serve("to another");
            assertThat(stream.gather().text()).isEqualTo("to another");
        }
    }

    @Test
    void should_end_a_connection_that_asks_twice_at_once() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory);
                Wire wire = new Wire(runtime)) {
            String next = "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n";
            wire.raw(next + next);
            assertThat(wire.socket.getInputStream().read()).isEqualTo(-1);
            CompletableFuture<HttpResponse<String>> ready = runtime.next();
            runtime.stream().request(get("/"), 0, true);
            assertThat(ready.get().statusCode()).isEqualTo(200);
        }
    }

    @Test
    void should_replace_a_child_that_cannot_start_again() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            Wire first = new Wire(runtime);
            first.raw("GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n");
            ScriptedStream stream = runtime.stream();
            runtime.crash();
            // The JDK's client would repeat its request, and the next child would seem to send it.
            assertThat(first.socket.getInputStream().read()).isEqualTo(-1);
            first.close();
            long broken = runtime.pid();
            assertThat(runtime.post("init/error", "{}").statusCode()).isEqualTo(202);
            runtime.awaitReplaced(broken);
            stream.request(get("/"), 0, true);
            runtime.serve("third");
            assertThat(stream.gather().text()).isEqualTo("third");
        }
    }

    @Test
    void should_fail_what_a_dead_child_had_been_given_and_no_other() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            var link = runtime.harness().dispatcher.takeReady();
            ScriptedStream given = link.takeStream();
            ScriptedStream waiting = link.takeStream();
            given.request(get("/given"), 0, true);
            next.get();
            waiting.request(get("/waiting"), 0, true);
            runtime.crash();
            assertThat(given.gather().status()).isEqualTo("502");
            runtime.serve("from the next");
            assertThat(waiting.gather().text()).isEqualTo("from the next");
        }
    }

    /** With a concurrency of 2, the child's client takes fewer invocations than it may. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "2"})
    void should_kill_a_child_that_hangs_past_the_deadline(String concurrency) throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", concurrency))) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            String before = runtime.authority();
            // The next child writes this file again.
            Files.delete(directory.resolve("child"));
            stream.request(get("/"), 50, true);
            next.get();
            assertThat(stream.take(Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
            sweepAfterAnHour(runtime.handler.shared().pool(), 120);
            assertThat(runtime.authority()).isEqualTo(before);
            stream.request(get("/"), 0, true);
            runtime.serve("alive");
            assertThat(stream.gather().text()).isEqualTo("alive");
        }
    }

    @Test
    void should_drop_the_answer_that_comes_after_the_client_has_gone() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            stream.cancel(ErrorCode.CANCELLED);
            stream.take(Reset.class);
            assertThat(runtime.post("invocation/" + id + "/response", "{\"statusCode\":200}")
                            .statusCode())
                    .isEqualTo(202);
            stream.request(get("/"), 0, true);
            runtime.serve("next");
            assertThat(stream.gather().text()).isEqualTo("next");
        }
    }

    @Test
    void should_take_the_head_of_a_streamed_answer_byte_by_byte() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 0, true);
            String id = ScriptedRuntime.id(next.get());
            String head = "{\"statusCode\":201," + " ".repeat(20_000) + "\"headers\":{}}" + ZEROS;
            StringBuilder chunks = new StringBuilder();
            head.chars()
                    .forEach(single ->
                            chunks.append("1\r\n").append((char) single).append("\r\n"));
            try (Wire wire = new Wire(runtime)) {
                wire.post("invocation/" + id + "/response", INTEGRATION)
                        .raw(chunks.toString())
                        .chunk("body")
                        .end("");
                Gathered answer = stream.gather();
                assertThat(answer.status()).isEqualTo("201");
                assertThat(answer.text()).isEqualTo("body");
            }
        }
    }

    @Test
    void should_not_make_room_for_what_is_only_announced() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream slow = runtime.stream();
            ScriptedStream other = slow.link().takeStream();
            ByteBufAllocatorMetric memory = ((ByteBufAllocatorMetricProvider) ByteBufAllocator.DEFAULT).metric();
            long before = memory.usedHeapMemory();
            slow.request(post("/").set("content-length", "80000000"), 0, false);
            slow.data(new byte[1], false);
            // Sent after the previous request, on the same worker connection.
            other.request(get("/"), 0, true);
            next.get();
            assertThat(memory.usedHeapMemory() - before).isLessThan(40_000_000);
            slow.cancel(ErrorCode.CANCELLED);
            slow.take(Reset.class);
        }
    }

    @Test
    void should_end_the_worker_with_the_error_of_a_runtime_that_cannot_start() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            assertThat(runtime.post(
                                    "init/error",
                                    "{\"errorMessage\":\"no module named app\"}",
                                    "Lambda-Runtime-Function-Error-Type",
                                    "Runtime.ImportModuleError")
                            .statusCode())
                    .isEqualTo(202);
            assertThat(runtime.harness().summary().reason())
                    .contains("cannot start", "Runtime.ImportModuleError", "no module named app");
        }
    }

    /**
     * The client has disconnected, the invocation has returned, and Lambda has frozen the
     * environment for an hour.
     */
    @Test
    void should_leave_a_child_that_was_frozen_the_time_it_had() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 60_000, true);
            String id = ScriptedRuntime.id(next.get());
            stream.cancel(ErrorCode.CANCELLED);
            stream.take(Reset.class);
            long pid = runtime.pid();

            sweepAfterAnHour(runtime.handler.shared().pool(), 300);
            assertThat(runtime.post("invocation/" + id + "/response", "{\"statusCode\":200}")
                            .statusCode())
                    .isEqualTo(202);
            stream.request(get("/"), 0, true);
            runtime.serve("next");
            assertThat(stream.gather().text()).isEqualTo("next");
            assertThat(ProcessHandle.of(pid)).isPresent();
        }
    }

    @Test
    void should_kill_a_child_that_has_hung_since_it_was_frozen() throws Exception {
        try (ScriptedRuntime runtime = new ScriptedRuntime(directory)) {
            CompletableFuture<HttpResponse<String>> next = runtime.next();
            ScriptedStream stream = runtime.stream();
            stream.request(get("/"), 60_000, true);
            next.get();
            long pid = runtime.pid();

            sweepAfterAnHour(runtime.handler.shared().pool(), 700);
            assertThat(stream.take(Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
            runtime.awaitReplaced(pid);
        }
    }

    /** Sweeps ten times a second of a clock that is an hour ahead. */
    static void sweepAfterAnHour(RuntimePool pool, int times) throws InterruptedException {
        long thawedNanos = System.nanoTime() + TimeUnit.HOURS.toNanos(1);
        Runnable sweeps = () -> {
            for (int i = 0; i < times; i++) {
                pool.sweep(thawedNanos + TimeUnit.MILLISECONDS.toNanos(100L * i));
            }
        };
        pool.loop().submit(sweeps).sync();
    }

    /** No invocation waits for its deadline. */
    @Test
    void should_fail_ordinary_invokes_when_the_runtime_cannot_start() throws Exception {
        Path told = directory.resolve("told");
        String command = "while [ ! -e '" + told + "' ]; do sleep 0.02; done; exit 9";
        RuntimeHandler handler = RuntimeHandler.of(Map.of("LAMBDA_DISPATCHER_RUNTIME", command));
        try {
            handler.start();
            CompletableFuture<byte[]> waits = CompletableFuture.supplyAsync(() -> invoke(handler));
            Files.createFile(told);
            String why = "died before it asked for an invocation: exit code 9";
            assertThatThrownBy(() -> waits.get(60, TimeUnit.SECONDS)).hasStackTraceContaining(why);
            assertThatThrownBy(() -> invoke(handler)).hasStackTraceContaining(why);
        } finally {
            handler.stop();
        }
    }

    /** Invokes with a deadline that is far away. */
    private static byte[] invoke(RuntimeHandler handler) {
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        Context context = proxy(Context.class, Map.of("getRemainingTimeInMillis", 900_000));
        try {
            handler.handleRequest(new ByteArrayInputStream("{}".getBytes(StandardCharsets.UTF_8)), answer, context);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return answer.toByteArray();
    }

    @Test
    void should_end_the_worker_when_the_command_does_not_run() throws Exception {
        try (ScriptedRuntime runtime =
                new ScriptedRuntime(directory, Map.of("LAMBDA_DISPATCHER_RUNTIME", "exec /no/such/program"))) {
            assertThat(runtime.harness().summary().reason()).contains("the runtime '", "died before", "exit code 127");
        }
    }
}
