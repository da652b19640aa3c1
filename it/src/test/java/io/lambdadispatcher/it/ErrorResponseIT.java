package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.ErrorRenderer.ErrorPage;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.io.InputStream;
import java.net.Socket;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Tests the dispatcher's own error responses in formats for programs, and request ids. */
@Timeout(60)
class ErrorResponseIT {
    private static final String ID = "x-request-id";

    private static Rig rig(ErrorRenderer renderer) {
        return Rig.start(
                Rig.function().build(),
                DispatcherObserver.NONE,
                builder -> builder.errorRenderer(renderer)
                        .forwarding(
                                ForwardingPolicy.builder().requestIdHeader(ID).build())
                        .router(head -> head.path().toString().startsWith("/lost") ? null : RouteTarget.of("demo")));
    }

    private static HttpResponse<String> get(Rig rig, Version version, String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(rig.https(path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return rig.client(version).send(request.build(), BodyHandlers.ofString());
    }

    @Test
    void should_send_problem_details_with_the_id_of_the_request() throws Exception {
        try (Rig rig = rig(ErrorRenderer.problemJson())) {
            for (Version version : Version.values()) {
                HttpResponse<String> response = get(rig, version, "/lost", ID, "order-7");
                assertThat(response.statusCode()).isEqualTo(404);
                assertThat(response.headers().firstValue("content-type")).contains("application/problem+json");
                assertThat(response.headers().firstValue(ID)).contains("order-7");
                JsonNode problem = JsonMapper.shared().readTree(response.body());
                assertThat(problem.get("status").intValue()).isEqualTo(404);
                assertThat(problem.get("title").stringValue()).isEqualTo("Not Found");
                assertThat(problem.get("failure").stringValue()).isEqualTo("no_function");
                assertThat(problem.get("requestId").stringValue()).isEqualTo("order-7");
                assertThat(problem.get("detail").stringValue()).isEqualTo("no function matches the request");

                HttpResponse<String> without = get(rig, version, "/lost");
                assertThat(without.headers().firstValue(ID).orElseThrow()).matches("[0-9a-f]{32}");
            }
            String malformed = raw(rig, "GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n");
            assertThat(malformed).startsWith("HTTP/1.1 400").contains("\"failure\":\"bad_request\"");
        }
    }

    private static String raw(Rig rig, String request) throws Exception {
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort());
                InputStream in = socket.getInputStream()) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void should_name_the_failure_in_a_header(Version version) throws Exception {
        try (Rig rig = Rig.start(
                Rig.function().build(),
                DispatcherObserver.NONE,
                builder -> builder.failureHeader("x-dispatcher-failure").router(head -> null))) {
            assertThat(get(rig, version, "/lost").headers().firstValue("x-dispatcher-failure"))
                    .contains("no_function");
            assertThat(raw(rig, "GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n"))
                    .contains("x-dispatcher-failure: bad_request");
        }
    }

    @Test
    void should_answer_500_and_name_the_router_if_it_fails() throws Exception {
        try (Rig rig = Rig.start(
                Rig.function().build(),
                DispatcherObserver.NONE,
                builder -> builder.failureHeader("x-dispatcher-failure").router(head -> {
                    throw new IllegalStateException("a bug of the router");
                }))) {
            HttpResponse<String> response = get(rig, Version.HTTP_2, "/");
            assertThat(response.statusCode()).isEqualTo(500);
            assertThat(response.headers().firstValue("x-dispatcher-failure")).contains("router_failed");
            assertThat(response.body()).isEqualTo("the router failed\n");
        }
    }

    @Test
    void should_send_the_programs_own_pages_and_survive_their_failure() throws Exception {
        ErrorRenderer pages = error -> {
            if (error.path().endsWith("broken")) {
                throw new IllegalStateException("no template");
            }
            String page = "<h1>" + error.failure() + "</h1>" + error.header("accept") + error.header("x-no");
            return new ErrorPage("text/html", page.getBytes(StandardCharsets.UTF_8));
        };
        try (Rig rig = rig(pages)) {
            HttpResponse<String> page = get(rig, Version.HTTP_2, "/lost", "accept", "text/*");
            assertThat(page.headers().firstValue("content-type")).contains("text/html");
            assertThat(page.body()).isEqualTo("<h1>no_function</h1>text/*null");

            HttpResponse<String> text = get(rig, Version.HTTP_1_1, "/lost/broken");
            assertThat(text.statusCode()).isEqualTo(404);
            assertThat(text.body()).isEqualTo("no function matches the request\n");
        }
    }

    @Test
    void should_give_a_request_an_id_unless_it_has_one() throws Exception {
        try (Rig rig = rig(ErrorRenderer.problemJson());
                Worker worker = new Worker(
                                WorkerConfig.of("demo", Rig.SECRET, rig.dispatcher.workerAddress()).toBuilder()
                                        .plain()
                                        .build(),
                                (request, response) -> response.respond(200, request.header(ID)))
                        .start()) {
            for (Version version : Version.values()) {
                String first = get(rig, version, "/").body();
                assertThat(first).matches("[0-9a-f]{32}");
                assertThat(get(rig, version, "/").body()).isNotEqualTo(first);
                assertThat(get(rig, version, "/", ID, "order-8").body()).isEqualTo("order-8");
            }
        }
    }
}
