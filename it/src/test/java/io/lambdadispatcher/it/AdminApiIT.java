package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A running dispatcher answers as docs/reference/admin-api.yaml says. {@code AdminApiDocTest}
 * checks that this file has every path.
 */
@Timeout(240)
class AdminApiIT {
    private static final String TOKEN = "0123456789abcdef";
    private static final String AUTHORIZED = "Authorization: Bearer " + TOKEN;
    private static ServedProgram program;

    private final AdminApiDescription description = new AdminApiDescription();

    private record Answer(int status, String contentType, String body) {}

    @BeforeAll
    static void open() throws Exception {
        program = ServedProgram.start(Map.of(
                "ADMIN_TOKEN", TOKEN,
                "FUNCTION_WORKER_TIMEOUT", "2s",
                "FUNCTION_MIN_WORKERS", "2; 2 at * * * * * for 1m in UTC",
                "FUNCTION_CIRCUIT_BREAKER", "50% open 1s",
                "FUNCTION_TENANT_HEADER", "x-tenant"));
    }

    @AfterAll
    static void close() throws Exception {
        program.close();
    }

    /** @param headers one of them may be another Host */
    private static Answer send(String method, String target, String... headers) throws Exception {
        List<String> lines = new ArrayList<>(List.of(headers));
        if (lines.stream().noneMatch(line -> line.startsWith("Host:"))) {
            lines.add("Host: localhost");
        }
        lines.add("Connection: close");
        try (Socket socket = new Socket("127.0.0.1", program.adminPort)) {
            socket.setSoTimeout(10_000);
            socket.getOutputStream()
                    .write((method + " " + target + " HTTP/1.1\r\n" + String.join("\r\n", lines) + "\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            String[] parts =
                    new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8).split("\r\n\r\n", 2);
            String contentType =
                    parts[0].replaceFirst("(?s).*\r\ncontent-type: ", "").replaceFirst("(?s)\r\n.*", "");
            return new Answer(Integer.parseInt(parts[0].substring(9, 12)), contentType, parts[1]);
        }
    }

    /** Returns the first event. */
    private static Answer event() throws Exception {
        HttpResponse<InputStream> response = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(program.adminUrl() + "/events"))
                                .build(),
                        BodyHandlers.ofInputStream());
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            return new Answer(
                    response.statusCode(),
                    response.headers().firstValue("content-type").orElseThrow(),
                    lines.readLine().substring("data: ".length()));
        }
    }

    private void check(int status, String method, String target, String... headers) throws Exception {
        Answer answer = target.equals("/events") && status == 200 ? event() : send(method, target, headers);
        assertThat(answer.status()).as(method + " " + target).isEqualTo(status);
        assertThat(checked(method, target, answer)).isEmpty();
    }

    private List<String> checked(String method, String target, Answer answer) {
        // A wrong method is described with those that are right.
        String described = method.equals("PUT") ? "get" : method.toLowerCase(Locale.ROOT);
        return description.check(
                described, target.replaceFirst("\\?.*", ""), answer.status(), answer.contentType(), answer.body());
    }

    private static void awaitRequests(int number) {
        Await.until(
                number + " requests are there",
                () -> program.document("requests").count() == number);
    }

    @Test
    void should_answer_as_described() throws Exception {
        // Makes requests that wait, that a worker has, and that fail.
        program.get("/ping").get(10, TimeUnit.SECONDS);
        List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            held.add(program.get("/delay?delay=60000&order=" + i, "x-tenant", "bakery"));
        }
        awaitRequests(6);
        for (String path : description.paths("get")) {
            check(200, "GET", path);
            check(405, "PUT", path);
        }
        for (CompletableFuture<HttpResponse<String>> each : held) {
            assertThat(each.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(504);
        }
        program.killOneWorker();
        Await.until(
                "a launch has failed",
                () -> program.document("launches").anyMatch(each -> "failed".equals(each.get("outcome"))));
        check(200, "GET", "/events");

        for (String path : description.paths("get")) {
            boolean anyHost = Set.of("/health", "/ready", "/started").contains(path);
            if (!anyHost) {
                check(403, "GET", path, "Host: other.example.org");
            }
        }
        check(401, "POST", "/launching?to=off");
        check(403, "POST", "/launching?to=off", AUTHORIZED, "Origin: http://other.example.org");
        check(400, "POST", "/launching?to=maybe", AUTHORIZED);
        check(200, "POST", "/launching?to=off&function=shop", AUTHORIZED);
        Await.until(
                "launching is paused",
                () -> program.document("functions").anyMatch(each -> each.containsKey("launchesBlocked")));
        Await.until(
                "a worker reports its load",
                () -> program.document("workers").anyMatch(each -> each.containsKey("cpu")));
        check(200, "GET", "/api/functions");
        check(200, "GET", "/api/workers");
        check(200, "POST", "/launching?to=on", AUTHORIZED);
        for (String command : List.of(
                "/api/weights?shop=1",
                "/api/log-level?to=warn",
                "/api/rollout?to=stop&function=shop",
                "/api/cache/clear")) {
            check(401, "POST", command);
            check(403, "POST", command, AUTHORIZED, "Origin: http://other.example.org");
        }
        check(400, "POST", "/api/weights?shop=1", AUTHORIZED);
        check(400, "POST", "/api/log-level?to=loud", AUTHORIZED);
        check(400, "POST", "/api/rollout?to=stop", AUTHORIZED);
        check(409, "POST", "/api/rollout?to=stop&function=shop", AUTHORIZED);
        check(200, "POST", "/api/log-level?to=info", AUTHORIZED);
        check(200, "POST", "/api/cache/clear", AUTHORIZED);
        for (String command : List.of("/api/workers/drain", "/api/workers/recycle")) {
            check(401, "POST", command + "?function=shop");
            check(403, "POST", command + "?function=shop", AUTHORIZED, "Origin: http://other.example.org");
            check(400, "POST", command, AUTHORIZED);
            check(404, "POST", command + "?worker=none", AUTHORIZED);
            check(200, "POST", command + "?function=shop", AUTHORIZED);
        }

        // Opens the breaker.
        for (int i = 0; i < 30; i++) {
            program.get("/fail").get(10, TimeUnit.SECONDS);
        }
        check(200, "GET", "/api/functions");
        // Closes it, for the other tests.
        Await.until("the breaker is closed", () -> {
            program.get("/ping").join();
            return program.document("functions")
                    .allMatch(each -> String.valueOf(each.get("breakers")).contains("passingPercent=100"));
        });

        Map<String, Set<String>> unseen = description.unseen();
        // FleetIT sees those of a fleet.
        unseen.keySet().removeIf(schema -> schema.startsWith("Fleet"));
        assertThat(unseen)
                .as(
                        "members that are described and that no answer has had; these need AWS, a base worker, 10 minutes, a sick worker, or a stuck"
                                + " event loop")
                .isEqualTo(Map.of(
                        "CommandedWorker",
                        Set.of("version"),
                        "Base",
                        Set.of("workers", "concurrency", "busy", "excess", "version", "versionDifference"),
                        "AdvisedBase",
                        Set.of("concurrency", "dollarsPerHour", "dollarsPerHourNow"),
                        "Function",
                        Set.of("rollout", "base", "advisedBase"),
                        "Rollout",
                        Set.of("state", "version", "newVersion", "newVersionReady", "percent", "reason"),
                        "Steered",
                        Set.of("function", "to"),
                        "State",
                        Set.of("problem"),
                        "Worker",
                        Set.of("ejected", "endReason", "logStream", "secondsToDeadline", "version", "zone"),
                        // ReloadIT sees them, because they need two functions.
                        "Weights",
                        Set.of("weights")));
    }

    @Test
    void should_notice_an_answer_that_is_not_described() throws Exception {
        Answer right = send("GET", "/api/version");
        assertThat(checked("GET", "/api/version", right)).isEmpty();

        assertThat(checked(
                        "GET",
                        "/api/version",
                        new Answer(200, "application/json", right.body().replace("{", "{\"new\":1,"))))
                .singleElement()
                .asString()
                .contains("new");
        assertThat(checked(
                        "GET",
                        "/api/version",
                        new Answer(200, "application/json", right.body().replace("netty", "neti"))))
                .hasSize(2);
        assertThat(checked(
                        "GET",
                        "/api/version",
                        new Answer(200, "application/json", right.body().replace("Z\"", "\""))))
                .hasSize(1);
        assertThat(checked("GET", "/api/version", new Answer(200, "text/plain", right.body())))
                .hasSize(1);
        assertThat(checked("GET", "/api/version", new Answer(418, "application/json", right.body())))
                .hasSize(1);
        assertThat(checked("GET", "/api/versions", right)).hasSize(1);
    }

    /** The request is in progress, or has failed by then. */
    @Test
    void should_show_its_state_as_text() throws Exception {
        CompletableFuture<HttpResponse<String>> held = program.get("/delay?delay=60000&held=1");
        awaitRequests(1);
        ProcessBuilder builder = ServedProgram.command("status", "--admin-url", program.adminUrl());
        builder.environment().put("COLUMNS", "150");
        Process status = builder.redirectErrorStream(true).start();
        String text = new String(status.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(status.waitFor()).as(text).isZero();
        assertThat(text)
                .startsWith("Lambda Dispatcher at " + program.adminUrl() + ", ")
                .contains("\nFUNCTION  QUEUED ", "\nshop  ", "GET /delay", "\nrunning  ", "\nWORKER  ")
                .matches("[ -~\n]*");
        held.get(30, TimeUnit.SECONDS);
    }

    @Test
    void should_serve_its_description() throws Exception {
        assertThat(send("GET", "/api/openapi.yaml").body())
                .isEqualTo(Files.readString(Path.of("..", "docs", "reference", "admin-api.yaml")));
    }
}
