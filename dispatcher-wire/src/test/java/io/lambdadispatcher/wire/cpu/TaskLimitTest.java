package io.lambdadispatcher.wire.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs against a task metadata endpoint on loopback. */
@Timeout(60)
@EachRelease
class TaskLimitTest {
    private static final int PATIENT_MILLIS = 20_000;
    private static final long NEVER_NANOS = TimeUnit.DAYS.toNanos(1);

    /** Shaped as AWS's example for Fargate, whose containers also have limits. */
    private static final String FARGATE = """
            {
              "Cluster": "arn:aws:ecs:us-east-1:111122223333:cluster/shop",
              "TaskARN": "arn:aws:ecs:us-east-1:111122223333:task/shop/0123456789abcdef0123456789abcdef",
              "Family": "shop-base",
              "Revision": "5",
              "DesiredStatus": "RUNNING",
              "KnownStatus": "RUNNING",
              %s
              "PullStartedAt": "2026-11-29T15:45:33.532811081Z",
              "AvailabilityZone": "us-east-1d",
              "Containers": [
                {
                  "DockerId": "0123456789abcdef0123456789abcdef-1117626119",
                  "Name": "shop",
                  "Labels": { "com.amazonaws.ecs.container-name": "shop" },
                  "Limits": { "CPU": 128 },
                  "Type": "NORMAL",
                  "Networks": [{ "NetworkMode": "awsvpc", "IPv4Addresses": ["192.0.2.3"], "AttachmentIndex": 0 }]
                },
                {
                  "DockerId": "0123456789abcdef0123456789abcdef-3681984407",
                  "Name": "logs",
                  "Limits": { "CPU": 2 },
                  "Type": "NORMAL"
                }
              ],
              "LaunchType": "FARGATE",
              "ClockDrift": { "ClockErrorBound": 0.446931, "ClockSynchronizationStatus": "SYNCHRONIZED" },
              "EphemeralStorageMetrics": { "Utilized": 261, "Reserved": 20496 }
            }
            """;

    private final Logger logger = Logger.getLogger(TaskLimit.class.getName());
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Handler log = new Handler() {
        @Override
        public void publish(LogRecord each) {
            lines.add(each.getLevel() + " " + each.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };
    private HttpServer server;
    private String endpoint;

    @BeforeEach
    void open() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        endpoint = "http://127.0.0.1:" + server.getAddress().getPort() + "/v4/0123456789abcdef";
        server.start();
        logger.addHandler(log);
        logger.setUseParentHandlers(false);
    }

    @AfterEach
    void close() {
        logger.setUseParentHandlers(true);
        logger.removeHandler(log);
        server.stop(0);
    }

    private void serve(int status, String text) {
        server.createContext("/v4/0123456789abcdef/task", exchange -> answer(exchange, status, text));
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try (exchange) {
            exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    /** Returns the limit after it has been read, or could not be read. */
    private double read(@Nullable String from, int timeoutMillis) {
        TaskLimit limit = new TaskLimit(from, timeoutMillis, NEVER_NANOS);
        assertThat(limit.processors()).isEqualTo(TaskLimit.NONE);
        Await.until("the limit", () -> !lines.isEmpty());
        return limit.processors();
    }

    private double read() {
        return read(endpoint, PATIENT_MILLIS);
    }

    private void assertFails(String from, int timeoutMillis, String cause) {
        assertThat(read(from, timeoutMillis)).isEqualTo(TaskLimit.NONE);
        assertThat(lines)
                .containsExactly("WARNING cannot read the limit of this ECS task from " + from
                        + "/task, so only the limit of its control group counts: " + cause);
    }

    @Test
    void should_read_the_limit_of_a_task_on_fargate() {
        serve(200, FARGATE.formatted("\"Limits\": { \"CPU\": 0.25, \"Memory\": 512 },"));
        assertThat(read()).isEqualTo(0.25);
        assertThat(lines).containsExactly("INFO this ECS task has a limit of 0.25 vCPU");
    }

    /** Not even if its containers have one. */
    @ParameterizedTest
    @ValueSource(
            strings = {"", "\"Limits\": {},", "\"Limits\": { \"Memory\": 512 },", "\"Limits\": null,", "\"Limits\": 4,"
            })
    void should_know_a_task_without_a_limit(String limits) {
        serve(200, FARGATE.formatted(limits));
        assertThat(read()).isEqualTo(TaskLimit.NONE);
        assertThat(lines).containsExactly("INFO this ECS task has no limit");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'' | the answer is no JSON object, expected a task",
                "{\"Limits\": {\"CPU\": 0.25 | the answer is no JSON object, expected a task",
                "[{\"Limits\": {\"CPU\": 0.25}}] | the answer is no JSON object, expected a task",
                "{\"Limits\": {\"CPU\": \"half\"}} | Limits.CPU is half, expected a number above 0",
                "{\"Limits\": {\"CPU\": 0}} | Limits.CPU is 0, expected a number above 0",
                "{\"Limits\": {\"CPU\": -1}} | Limits.CPU is -1, expected a number above 0",
                "{\"Limits\": {\"CPU\": [1]}} | Limits.CPU is [1], expected a number above 0",
            })
    void should_say_once_that_the_answer_is_odd(String answer, String cause) {
        serve(200, answer);
        assertFails(endpoint, PATIENT_MILLIS, cause);
    }

    @ParameterizedTest
    @ValueSource(ints = {204, 302, 404, 500})
    void should_say_once_that_there_is_no_answer(int status) {
        serve(status, "");
        assertFails(endpoint, PATIENT_MILLIS, "the status is " + status + ", expected 200");
    }

    @Test
    void should_not_let_callers_wait_for_the_answer() {
        CountDownLatch asked = new CountDownLatch(1);
        server.createContext("/", exchange -> {
            try {
                asked.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            answer(exchange, 200, FARGATE.formatted("\"Limits\": { \"CPU\": 2 },"));
        });
        TaskLimit limit = new TaskLimit(endpoint, PATIENT_MILLIS, NEVER_NANOS);
        assertThat(limit.processors()).isEqualTo(TaskLimit.NONE);
        asked.countDown();
        // The next test expects no line of this one.
        Await.until("the limit", () -> !lines.isEmpty());
        assertThat(limit.processors()).isEqualTo(2);
    }

    /** A busy container answers late, and the endpoint refuses those who ask too often. */
    @Test
    void should_ask_again_until_there_is_an_answer() {
        AtomicInteger asked = new AtomicInteger();
        server.createContext("/", exchange -> {
            boolean refused = asked.incrementAndGet() < 3;
            answer(exchange, refused ? 429 : 200, refused ? "" : FARGATE.formatted("\"Limits\": { \"CPU\": 0.5 },"));
        });
        TaskLimit limit = new TaskLimit(endpoint, PATIENT_MILLIS, 0);
        Await.until("the limit", () -> limit.processors() == 0.5);
        Await.until("its line", () -> lines.size() == 2);
        assertThat(lines.get(0)).endsWith("the status is 429, expected 200");
        assertThat(asked).hasValue(3);
    }

    @Test
    void should_say_once_that_the_answer_is_late() {
        server.createContext("/", exchange -> {});
        assertFails(endpoint, 100, "Read timed out");
    }

    @Test
    void should_say_once_that_the_address_is_wrong() {
        assertFails("file:/etc", PATIENT_MILLIS, "expected an http address");
    }

    @Test
    void should_do_nothing_outside_of_a_task() {
        Await.until("the threads of other tests have ended", () -> threads() == 0);
        assertThat(new TaskLimit(null, PATIENT_MILLIS, NEVER_NANOS).processors())
                .isEqualTo(TaskLimit.NONE);
        assertThat(threads()).isZero();
        assertThat(lines).isEmpty();
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().equals("ecs-task-limit"))
                .count();
    }
}
