package com.example.aws;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the SDK with a server that supports only the parts of S3 and DynamoDB that routes use. */
@Timeout(180)
class AwsRoutesTest {
    private static final byte[] OBJECT = new byte[3_000_000];
    private static final int LARGE_BYTES = 64 << 20;
    private static final Map<String, String> CONFIGURED = Map.of(
            "AWS_REGION",
            "eu-west-1",
            "AWS_ACCESS_KEY_ID",
            "test",
            AwsHandler.BUCKET,
            "images",
            AwsHandler.TABLE,
            "items");
    private static final String DENIED_TABLE = "denied";
    private static final String[] PROPERTIES = {
        "aws.endpointUrlS3", "aws.endpointUrlDynamoDb", "aws.region", "aws.accessKeyId", "aws.secretAccessKey"
    };

    private static final Queue<String> puts = new ConcurrentLinkedQueue<>();
    private static final CountDownLatch largeEnded = new CountDownLatch(1);
    private static final ExecutorService threads = Executors.newCachedThreadPool();
    private static HttpServer aws;

    private final Harness harness = new Harness(new AwsHandler(CONFIGURED));

    @BeforeAll
    static void start() throws IOException {
        new Random(7).nextBytes(OBJECT);
        aws = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        aws.setExecutor(threads);
        aws.createContext("/images/object", exchange -> answer(exchange, "image/jpeg", OBJECT));
        aws.createContext("/images/large", AwsRoutesTest::answerLarge);
        aws.createContext("/images/missing", exchange -> {
            exchange.sendResponseHeaders(404, -1);
            exchange.close();
        });
        aws.createContext("/", AwsRoutesTest::put);
        aws.start();
        String endpoint = "http://127.0.0.1:" + aws.getAddress().getPort();
        String[] values = {endpoint, endpoint, "eu-west-1", "test", "test"};
        for (int i = 0; i < PROPERTIES.length; i++) {
            System.setProperty(PROPERTIES[i], values[i]);
        }
    }

    private static void put(HttpExchange exchange) throws IOException {
        String item = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        if (item.contains("\"" + DENIED_TABLE + "\"")) {
            byte[] error = ("{\"__type\":\"AccessDeniedException\",\"message\":\"User: arn:aws:sts::1:role is not"
                            + " authorized\"}")
                    .getBytes(StandardCharsets.US_ASCII);
            exchange.sendResponseHeaders(400, error.length);
            exchange.getResponseBody().write(error);
            exchange.close();
            return;
        }
        puts.add(exchange.getRequestHeaders().getFirst("X-Amz-Target") + " " + item);
        answer(exchange, "application/x-amz-json-1.0", "{}".getBytes(StandardCharsets.US_ASCII));
    }

    private static void answer(HttpExchange exchange, String type, byte[] content) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.getResponseHeaders().set("Content-Length", Integer.toString(content.length));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
            return;
        }
        exchange.sendResponseHeaders(200, content.length);
        exchange.getResponseBody().write(content);
        exchange.close();
    }

    private static void answerLarge(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, LARGE_BYTES);
        byte[] part = new byte[1 << 16];
        try (OutputStream out = exchange.getResponseBody()) {
            for (int sent = 0; sent < LARGE_BYTES; sent += part.length) {
                out.write(part);
            }
        } finally {
            largeEnded.countDown();
        }
    }

    @AfterAll
    static void stop() {
        aws.stop(0);
        threads.shutdownNow();
        for (String property : PROPERTIES) {
            System.clearProperty(property);
        }
    }

    @AfterEach
    void close() {
        harness.close();
    }

    @Test
    void should_stream_an_object_unchanged() throws Exception {
        ScriptedStream stream = harness.stream();
        for (int i = 0; i < 3; i++) {
            ScriptedStream.Gathered response = stream.exchange(get("/read-s3?key=object"));
            assertThat(response.status()).isEqualTo("200");
            assertThat(response.head().headers().get("content-type").toString()).isEqualTo("image/jpeg");
            assertThat(response.head().headers().get("content-length").toString())
                    .isEqualTo("3000000");
            assertThat(response.body()).isEqualTo(OBJECT);
        }
    }

    @Test
    void should_answer_head_without_a_body() throws Exception {
        ScriptedStream.Gathered response =
                harness.stream().exchange(get("/read-s3?key=object").method("HEAD"));
        assertThat(response.status()).isEqualTo("200");
        assertThat(response.head().headers().get("content-length").toString()).isEqualTo("3000000");
        assertThat(response.body()).isEmpty();
    }

    @Test
    void should_answer_404_where_there_is_no_object() throws Exception {
        assertThat(harness.stream().exchange(get("/read-s3?key=missing")).status())
                .isEqualTo("404");
    }

    @Test
    void should_hold_an_object_back_while_the_client_does_not_read_and_leave_it_when_the_client_goes()
            throws Exception {
        ScriptedStream stream = harness.stream();
        stream.countsOnly = true;
        stream.holdsWindow = true;
        stream.request(get("/read-s3?key=large"), 0, true);
        stream.take(ScriptedStream.Head.class);
        stream.awaitBody(1);
        // Socket buffers hold a few megabytes, so 64 MB cannot be sent completely.
        assertThat(largeEnded.await(1, TimeUnit.SECONDS)).isFalse();

        stream.cancel(ErrorCode.CANCELLED);
        assertThat(largeEnded.await(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void should_put_items_one_after_the_other_and_tell_the_times() throws Exception {
        puts.clear();
        ScriptedStream.Gathered response = harness.stream().exchange(get("/dynamodb-put?n=10"));
        assertThat(response.status()).isEqualTo("200");
        assertThat(response.text()).matches("\\{\"batch\":\"[-0-9a-f]{36}\",\"tookMicros\":\\[\\d+(, \\d+){9}]}");
        assertThat(puts)
                .hasSize(10)
                .allMatch(put -> put.startsWith("DynamoDB_20120810.PutItem ") && put.contains("items"));
    }

    /** The text of a failure is sent to the client. */
    @Test
    void should_not_tell_the_client_what_aws_has_said() throws Exception {
        Map<String, String> variables = new HashMap<>(CONFIGURED);
        variables.put(AwsHandler.TABLE, DENIED_TABLE);
        try (Harness denied = new Harness(new AwsHandler(variables))) {
            ScriptedStream stream = denied.stream();
            stream.request(get("/dynamodb-put"), 0, true);
            ScriptedStream.Reset reset = stream.take(ScriptedStream.Reset.class);
            assertThat(reset.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(reset.text()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/read-s3", "/dynamodb-put?n=many", "/dynamodb-put?n=1001", "/dynamodb-put?n=-1"})
    void should_answer_400_if_a_parameter_is_missing_or_wrong(String path) throws Exception {
        assertThat(harness.stream().exchange(get(path)).status()).isEqualTo("400");
    }

    @Test
    void should_answer_pings_and_404_on_other_paths() throws Exception {
        ScriptedStream stream = harness.stream();
        assertThat(stream.exchange(get("/ping")).text()).isEqualTo("pong\n");
        assertThat(stream.exchange(get("/nowhere")).status()).isEqualTo("404");
    }

    @ParameterizedTest
    @ValueSource(strings = {"AWS_REGION", "AWS_ACCESS_KEY_ID", AwsHandler.BUCKET, AwsHandler.TABLE})
    void should_say_that_aws_is_not_configured(String missing) throws Exception {
        Map<String, String> variables = new HashMap<>(CONFIGURED);
        variables.remove(missing);
        String path = missing.equals(AwsHandler.TABLE) ? "/dynamodb-put?n=10" : "/read-s3?key=object";
        try (Harness unconfigured = new Harness(new AwsHandler(variables))) {
            ScriptedStream.Gathered response = unconfigured.stream().exchange(get(path));
            assertThat(response.status()).isEqualTo("503");
            assertThat(response.text()).contains("AWS is not configured", missing);
        }
    }
}
