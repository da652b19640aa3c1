package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.slf4j.LoggerFactory;

/**
 * The dispatcher follows an alias under load over HTTP/1.1 and HTTP/2. It asks every second, and
 * watches a new version for five seconds.
 */
@StartsPrograms
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
class AliasIT {
    private static final String TOKEN = "0123456789abcdef";
    /** A worker of a new version that fails all requests gets ten per second, until it drains. */
    private static final int MOST_FAILED = 50;

    private LoopbackLambda lambda;
    private ServedProgram program;
    private List<LoadClients> loads = List.of();

    @BeforeEach
    void open() throws Exception {
        lambda = new LoopbackLambda(
                "7", Map.of("7", DemoHandler.class, "8", DemoHandler.class, "9", FailingHandler.class));
        int workerPort = FreePort.next();
        program = ServedProgram.start(
                Map.ofEntries(
                        Map.entry("FUNCTION_LAUNCHER", "lambda"),
                        Map.entry("FUNCTION_LAMBDA", "shop:live"),
                        Map.entry("FUNCTION_HANDLER", ""),
                        Map.entry("FUNCTION_WORKER_CONCURRENCY", "20"),
                        Map.entry("FUNCTION_MAX_WORKERS", "4"),
                        Map.entry("FUNCTION_ROLLOUT", "10% for 5s poll 1s"),
                        Map.entry("WORKERS_PORT", Integer.toString(workerPort)),
                        Map.entry("WORKERS_ADVERTISED_ADDRESSES", "127.0.0.1:" + workerPort),
                        Map.entry("AWS_ENDPOINT", lambda.endpoint()),
                        Map.entry("AWS_REGION", "us-east-1"),
                        Map.entry("ADMIN_TOKEN", TOKEN)),
                Map.of("AWS_ACCESS_KEY_ID", "test", "AWS_SECRET_ACCESS_KEY", "test"));
        awaitRollout("steady", "7");
        loads = List.of(LoadClients.http1(program.publicPort, 2), LoadClients.http2(program.publicPort, 1));
    }

    @AfterEach
    void close() throws Exception {
        for (LoadClients load : loads) {
            load.close();
        }
        program.close();
        lambda.close();
    }

    private Map<?, ?> rollout() {
        return program.document("functions")
                .map(function -> (Map<?, ?>) function.get("rollout"))
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(Map.of());
    }

    private void awaitRollout(String state, String version) {
        Await.until(
                state + " " + version,
                Duration.ofSeconds(90),
                () -> state.equals(rollout().get("state"))
                        && version.equals(rollout().get("version")));
    }

    private String command(String to) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create(program.adminUrl() + "/api/rollout?to=" + to + "&function=shop"))
                .header("authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.noBody())
                .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        return answer.statusCode() + " " + answer.body();
    }

    private String metrics() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(program.adminUrl() + "/metrics"))
                .build();
        return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
    }

    private Set<Object> readyVersions() {
        return program.document("workers")
                .filter(worker -> "ready".equals(worker.get("state")))
                .map(worker -> worker.get("version"))
                .collect(Collectors.toSet());
    }

    private void stopLoads() throws Exception {
        for (LoadClients load : loads) {
            load.close();
        }
        LoggerFactory.getLogger(AliasIT.class)
                .info(
                        "{} requests served over HTTP/1.1 and {} over HTTP/2, {} and {} lost",
                        loads.get(0).served(),
                        loads.get(1).served(),
                        loads.get(0).lost().size(),
                        loads.get(1).lost().size());
        assertThat(loads).allSatisfy(load -> assertThat(load.served()).isGreaterThan(100));
    }

    @Test
    void should_replace_all_workers_when_the_alias_moves_without_losing_a_request() throws Exception {
        lambda.alias = "8";
        awaitRollout("watching", "7");
        Await.until("both versions serve", () -> readyVersions().equals(Set.of("7", "8")));
        assertThat(command("stop")).isEqualTo("200 {\"function\":\"shop\",\"to\":\"stop\"}");
        awaitRollout("stopped", "7");
        Await.until("only the old version serves", () -> readyVersions().equals(Set.of("7")));
        assertThat(command("stop")).isEqualTo("409 function shop has no change to stop: stopped\n");

        assertThat(command("resume")).startsWith("200 ");
        awaitRollout("watching", "7");
        awaitRollout("steady", "8");

        Await.until("only the new version serves", () -> readyVersions().equals(Set.of("8")));
        stopLoads();
        assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());
    }

    /** Until the change stops, the worker of the new version answers with 500. */
    @Test
    void should_keep_the_old_version_if_the_new_one_fails() throws Exception {
        lambda.alias = "9";
        awaitRollout("stopped", "7");

        Await.until("only the old version serves", () -> readyVersions().equals(Set.of("7")));
        assertThat(metrics())
                .contains("lambda_dispatcher_rollout{function=\"shop\"} 3.0\n")
                .containsPattern("lambda_dispatcher_worker_gigabyte_seconds_total\\{function=\"shop\"} [0-9.]*[1-9]");
        List<Integer> failed = loads.stream().map(load -> load.lost().size()).toList();
        assertThat(failed.stream().mapToInt(Integer::intValue).sum())
                .as("requests that the new version failed")
                .isLessThanOrEqualTo(MOST_FAILED);
        int served = loads.get(0).served();
        Await.until("the old version keeps serving", () -> loads.get(0).served() > served + 200);
        assertThat(loads.stream().map(load -> load.lost().size()).toList()).isEqualTo(failed);
        stopLoads();
        assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isSubsetOf("500"));

        // An operator puts the alias back.
        lambda.alias = "7";
        awaitRollout("steady", "7");
    }

    @Test
    void should_change_nothing_while_the_api_is_down() throws Exception {
        lambda.down = true;
        lambda.alias = "8";
        int served = loads.get(0).served();
        Await.until("time passes", () -> loads.get(0).served() > served + 600);
        assertThat(rollout()).isEqualTo(Map.of("state", "steady", "version", "7"));
        assertThat(readyVersions()).isEqualTo(Set.of("7"));

        lambda.down = false;
        awaitRollout("watching", "7");
        stopLoads();
        assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());
    }
}
