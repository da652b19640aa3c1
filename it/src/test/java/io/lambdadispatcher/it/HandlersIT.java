package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.it.functions.HttpApiFunction;
import io.lambdadispatcher.it.functions.LoadBalancerFunction;
import io.lambdadispatcher.it.functions.RestApiFunction;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs unmodified Lambda functions with AWS's event classes in worker processes behind a
 * dispatcher.
 */
@Timeout(400)
class HandlersIT {
    private static final int MIB = 1 << 20;

    private static String handler(EventFormat format) {
        return switch (format) {
            case ALB, ALB_MULTI_VALUE -> LoadBalancerFunction.class.getName();
            case REST_API -> RestApiFunction.class.getName() + "::echo";
            case HTTP_API_V2, FUNCTION_URL -> HttpApiFunction.class.getName();
        };
    }

    private static Map<String, String> variables(EventFormat format) {
        Map<String, String> variables = new HashMap<>();
        variables.put("LAMBDA_DISPATCHER_HANDLER", handler(format));
        variables.put("LAMBDA_DISPATCHER_EVENT", format.text());
        return variables;
    }

    private static HttpRequest.Builder request(Rig rig, Version version, String path) {
        URI uri = version == Version.HTTP_2 ? rig.https(path) : rig.http(path);
        return HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(150));
    }

    private static HttpResponse<String> get(Rig rig, HttpClient client, String path) throws Exception {
        return client.send(request(rig, Version.HTTP_1_1, path).build(), BodyHandlers.ofString());
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static void verifyEcho(HttpClient client, HttpRequest.Builder to, byte[] body, String type)
            throws Exception {
        HttpResponse<byte[]> response = client.send(
                to.header("content-type", type)
                        .POST(BodyPublishers.ofByteArray(body))
                        .build(),
                BodyHandlers.ofByteArray());

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.headers().allValues("content-type")).containsExactly(type);
        assertThat(response.body()).isEqualTo(body);
    }

    @ParameterizedTest
    @EnumSource
    void should_echo_through_each_shape(EventFormat format) throws Exception {
        byte[] text = "grün \"\\ \u2028 😀 \u0001\n".repeat(5_000).getBytes(StandardCharsets.UTF_8);
        try (Rig rig = Rig.start()) {
            rig.process(1, 4, variables(format));
            for (Version version : Version.values()) {
                HttpClient client = rig.client(version);
                verifyEcho(client, request(rig, version, "/echo?a=1"), random(168_161), "image/png");
                verifyEcho(client, request(rig, version, "/echo"), text, "text/plain; charset=utf-8");
                verifyEcho(client, request(rig, version, "/echo"), text, "application/octet-stream");
                verifyEcho(client, request(rig, version, "/echo"), new byte[0], "application/json");
                verifyHead(client, request(rig, version, "/echo"), format);
            }
        }
    }

    private static void verifyHead(HttpClient client, HttpRequest.Builder to, EventFormat format) throws Exception {
        HttpResponse<String> response = client.send(
                to.header("x-status", "418")
                        .header("x-list", "one")
                        .header("x-list", "two")
                        .header("cookie", "a=1; b=2")
                        .build(),
                BodyHandlers.ofString());

        assertThat(response.statusCode()).isEqualTo(418);
        assertThat(response.body()).isEmpty();
        assertThat(response.headers().allValues("x-list"))
                .isEqualTo(
                        switch (format) {
                            case ALB -> List.of("two");
                            case HTTP_API_V2, FUNCTION_URL -> List.of("one,two");
                            case ALB_MULTI_VALUE, REST_API -> List.of("one", "two");
                        });
        assertThat(response.headers().allValues("set-cookie"))
                .isEqualTo(format == EventFormat.ALB ? List.of() : List.of("a=1", "b=2"));
    }

    @ParameterizedTest
    @EnumSource
    void should_echo_large_bodies_through_each_shape(EventFormat format) throws Exception {
        // The largest once. The others have many parts, too.
        int bytes = format == EventFormat.REST_API ? 64 * MIB : 8 * MIB;
        try (Rig rig = Rig.start()) {
            Map<String, String> variables = variables(format);
            variables.put("_JAVA_OPTIONS", "-Xmx1500m");
            rig.process(1, 2, variables);
            HttpClient client = rig.client(Version.HTTP_2);

            verifyEcho(client, request(rig, Version.HTTP_2, "/echo"), random(bytes), "application/octet-stream");
        }
    }

    /**
     * Uses HTTP/1.1, because the HTTP/2 client of JDK 17 waits forever if the server ends a request
     * early without an error (RFC 9113 section 8.1).
     */
    @Test
    void should_refuse_a_body_beyond_the_limit() throws Exception {
        try (Rig rig = Rig.start()) {
            Map<String, String> variables = variables(EventFormat.REST_API);
            variables.put("LAMBDA_DISPATCHER_EVENT_MAX_BODY_BYTES", "1000000");
            rig.process(1, 2, variables);

            HttpResponse<String> refused = rig.client(Version.HTTP_1_1)
                    .send(
                            request(rig, Version.HTTP_1_1, "/echo")
                                    .POST(BodyPublishers.ofByteArray(new byte[MIB + MIB / 8]))
                                    .build(),
                            BodyHandlers.ofString());

            assertThat(refused.statusCode()).isEqualTo(413);
            rig.awaitAllFree();
        }
    }

    @Test
    void should_run_many_requests_at_once_on_one_object() throws Exception {
        int requests = 100;
        try (Rig rig = Rig.start()) {
            rig.process(2, 100, variables(EventFormat.HTTP_API_V2));
            HttpClient client = rig.client(Version.HTTP_2);
            List<CompletableFuture<HttpResponse<String>>> slow = new ArrayList<>();
            for (int i = 0; i < requests; i++) {
                slow.add(client.sendAsync(
                        request(rig, Version.HTTP_2, "/together?" + i).build(), BodyHandlers.ofString()));
            }
            for (CompletableFuture<HttpResponse<String>> response : slow) {
                assertThat(response.get(120, TimeUnit.SECONDS).body()).isEqualTo("together");
            }
            String[] facts = get(rig, client, "/facts").body().split(" ");
            assertThat(facts[0]).as("objects").isEqualTo("1");
            assertThat(Integer.parseInt(facts[1])).as("at once").isBetween(HttpApiFunction.TOGETHER, requests);
        }
    }

    @Test
    void should_interrupt_the_call_of_a_client_that_goes_and_no_other() throws Exception {
        try (Rig rig = Rig.start()) {
            rig.process(1, 4, variables(EventFormat.FUNCTION_URL));
            HttpClient client = rig.client(Version.HTTP_1_1);
            CompletableFuture<HttpResponse<String>> gone = client.sendAsync(
                    request(rig, Version.HTTP_1_1, "/forever?one").build(), BodyHandlers.ofString());
            CompletableFuture<HttpResponse<String>> stays = client.sendAsync(
                    request(rig, Version.HTTP_1_1, "/forever?two").build(), BodyHandlers.ofString());
            Await.until("both wait", () -> log(rig, client).matches(".*(one waits,two waits|two waits,one waits).*"));

            gone.cancel(true);

            Await.until("the call is interrupted", () -> log(rig, client).contains("one interrupted"));
            assertThat(log(rig, client)).doesNotContain("two interrupted");
            assertThat(stays).isNotDone();
        }
    }

    private static String log(Rig rig, HttpClient client) {
        try {
            return get(rig, client, "/log").body();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void should_answer_504_when_the_call_takes_too_long_and_interrupt_it() throws Exception {
        FunctionOptions impatient =
                Rig.function().workerTimeout(Duration.ofSeconds(3)).build();
        try (Rig rig = Rig.start(impatient, DispatcherObserver.NONE)) {
            rig.process(1, 4, variables(EventFormat.HTTP_API_V2));
            HttpClient client = rig.client(Version.HTTP_1_1);

            assertThat(get(rig, client, "/forever?one").statusCode()).isEqualTo(504);

            Await.until("the call is interrupted", () -> log(rig, client).contains("one interrupted"));
            rig.awaitAllFree();
            String[] facts = get(rig, client, "/facts").body().split(" ");
            assertThat(Integer.parseInt(facts[2])).as("remaining").isBetween(1, 3_000);
        }
    }

    @ParameterizedTest
    @CsvSource({"/throw, 500", "/malformed, 502"})
    void should_fail_one_request_and_go_on(String path, int status) throws Exception {
        try (Rig rig = Rig.start()) {
            rig.process(1, 4, variables(EventFormat.HTTP_API_V2));
            HttpClient client = rig.client(Version.HTTP_1_1);
            CompletableFuture<HttpResponse<String>> other =
                    client.sendAsync(request(rig, Version.HTTP_1_1, "/slow").build(), BodyHandlers.ofString());

            HttpResponse<String> failed = get(rig, client, path);

            assertThat(failed.statusCode()).isEqualTo(status);
            assertThat(failed.body()).isNotEmpty().hasSizeLessThan(200).doesNotContain("boom", "\tat ");
            assertThat(other.get(120, TimeUnit.SECONDS).body()).isEqualTo("slow");
            assertThat(get(rig, client, "/echo").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void should_not_start_with_a_class_that_is_no_handler() throws Exception {
        try (Rig rig = Rig.start()) {
            Process worker = rig.launch(1, 1, Map.of("LAMBDA_DISPATCHER_HANDLER", RestApiFunction.class.getName()));

            assertThat(worker.waitFor(120, TimeUnit.SECONDS)).isTrue();
            assertThat(worker.exitValue()).isEqualTo(2);
        }
    }
}
