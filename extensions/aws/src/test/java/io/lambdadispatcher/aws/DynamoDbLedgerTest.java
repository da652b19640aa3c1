package io.lambdadispatcher.aws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.Ledger.Entry;
import io.lambdadispatcher.core.spi.LedgerException;
import io.lambdadispatcher.test.LedgerContract;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/** Runs against DynamoDB Local, and against servers that fail. */
@EnabledOnOs(value = OS.LINUX, architectures = "amd64", disabledReason = "DynamoDB Local's native library is for amd64")
class DynamoDbLedgerTest extends LedgerContract {
    private static final String REGION = "eu-central-1";
    private static final String TABLE = "lambda-dispatcher";

    private static LocalDynamoDb dynamoDb;
    private static DynamoDbAsyncClient client;

    @BeforeAll
    static void start() throws Exception {
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        dynamoDb = LocalDynamoDb.start();
        client = DynamoDbAsyncClient.builder()
                .httpClientBuilder(NettyNioAsyncHttpClient.builder())
                .endpointOverride(dynamoDb.endpoint())
                .region(Region.of(REGION))
                .build();
        assertThat(builder(dynamoDb.endpoint()).createTable().created()).isTrue();
    }

    @AfterAll
    static void stop() throws Exception {
        client.close();
        dynamoDb.close();
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }

    private static DynamoDbLedger.Builder builder(URI endpoint) {
        return DynamoDbLedger.builder().region(REGION).endpoint(endpoint).table(TABLE);
    }

    @Override
    protected Ledger open(String fleet) {
        return builder(dynamoDb.endpoint()).fleet(fleet).build();
    }

    private static <T> T await(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(20, TimeUnit.SECONDS);
    }

    /** Fails unless the stage fails with this message. */
    private static void assertFailed(CompletionStage<?> stage, String message) {
        assertThatThrownBy(() -> await(stage))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(LedgerException.class)
                .hasMessageMatching(message);
    }

    private static HttpServer server(HttpHandler handler) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", handler);
        server.start();
        return server;
    }

    private static URI endpoint(HttpServer server) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Sends a request to DynamoDB Local, and returns the answer. */
    private static HttpResponse<String> forward(HttpExchange exchange) throws IOException {
        HttpRequest.Builder request = HttpRequest.newBuilder(dynamoDb.endpoint())
                .POST(HttpRequest.BodyPublishers.ofByteArray(
                        exchange.getRequestBody().readAllBytes()));
        for (String header : List.of("Authorization", "Content-Type", "X-Amz-Date", "X-Amz-Target")) {
            request.header(header, exchange.getRequestHeaders().getFirst(header));
        }
        try {
            HttpResponse<String> answer =
                    HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
            return answer;
        } catch (InterruptedException e) {
            throw new InterruptedIOException();
        }
    }

    /** Sends a request to DynamoDB Local, and loses the answer. */
    private static void loseAnswer(HttpExchange exchange, AtomicInteger answers) throws IOException {
        try (exchange) {
            forward(exchange);
            answers.incrementAndGet();
        }
    }

    @Test
    void should_read_again_when_the_connection_is_closed() throws Exception {
        AtomicInteger requests = new AtomicInteger();
        HttpServer proxy = server(exchange -> {
            try (exchange) {
                if (requests.incrementAndGet() > 1) {
                    byte[] answer = forward(exchange).body().getBytes(StandardCharsets.UTF_8);
                    exchange.sendResponseHeaders(200, answer.length);
                    exchange.getResponseBody().write(answer);
                }
            }
        });
        try (Ledger cut = builder(endpoint(proxy)).fleet("cut").build();
                Ledger ledger = open("cut")) {
            assertThat(await(ledger.write("a", 0, "1"))).isTrue();
            assertThat(await(cut.read())).containsExactly(new Entry("a", 1, "1"));
            assertThat(requests).hasValue(2);
        } finally {
            proxy.stop(0);
        }
    }

    /** A retry would find the version that the first attempt wrote, and report false. */
    @Test
    void should_fail_and_not_retry_when_the_acknowledgement_is_lost() throws Exception {
        AtomicInteger answers = new AtomicInteger();
        HttpServer proxy = server(exchange -> loseAnswer(exchange, answers));
        try (Ledger lossy = builder(endpoint(proxy)).fleet("lost").build();
                Ledger ledger = open("lost")) {
            assertFailed(lossy.write("a", 0, "1"), "DynamoDB table lambda-dispatcher in eu-central-1: .+");
            assertThat(answers).hasValue(1);
            assertThat(await(ledger.read())).containsExactly(new Entry("a", 1, "1"));

            assertFailed(lossy.remove("a", 1), "DynamoDB table lambda-dispatcher in eu-central-1: .+");
            assertThat(answers).hasValue(2);
            assertThat(await(ledger.read())).isEmpty();
        } finally {
            proxy.stop(0);
        }
    }

    @Test
    void should_fail_after_3_s_without_an_answer() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
                Ledger ledger =
                        builder(FakeLambda.endpoint(silent.getLocalPort())).build()) {
            long start = System.nanoTime();
            assertFailed(ledger.read(), "DynamoDB table lambda-dispatcher in eu-central-1: no answer within 3 s\\..+");
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .isBetween(Duration.ofSeconds(2), Duration.ofSeconds(6));
        }
    }

    @Test
    void should_say_that_nobody_listens() throws Exception {
        try (Socket deaf = FakeLambda.deaf();
                Ledger ledger =
                        builder(FakeLambda.endpoint(deaf.getLocalPort())).build()) {
            assertFailed(ledger.write("a", 0, "1"), "DynamoDB table lambda-dispatcher in eu-central-1: .*refused.*");
        }
    }

    @Test
    void should_say_how_to_create_a_missing_table() throws Exception {
        try (Ledger ledger = builder(dynamoDb.endpoint()).table("other-table").build()) {
            String message = "DynamoDB table other-table in eu-central-1: there is no such table\\."
                    + " Create it with: dispatcher fleet init";
            assertFailed(ledger.read(), message);
            assertFailed(ledger.write("a", 0, "1"), message);
            assertFailed(ledger.remove("a", 1), message);
        }
    }

    @Test
    void should_name_the_actions_that_must_be_allowed() throws Exception {
        byte[] denial =
                "{\"__type\":\"com.amazon.coral.service#AccessDeniedException\",\"Message\":\"User is\\nnot allowed\"}"
                        .getBytes(StandardCharsets.UTF_8);
        HttpServer denying = server(exchange -> {
            try (exchange) {
                exchange.getResponseHeaders().set("Content-Type", "application/x-amz-json-1.0");
                exchange.sendResponseHeaders(400, denial.length);
                exchange.getResponseBody().write(denial);
            }
        });
        try (Ledger ledger = builder(endpoint(denying)).build()) {
            assertFailed(
                    ledger.read(),
                    "DynamoDB table lambda-dispatcher in eu-central-1: access denied\\. Allow dynamodb:Query,"
                            + " dynamodb:PutItem, dynamodb:DeleteItem on the table \\(User is not allowed .*\\)");
            assertThatThrownBy(() -> builder(endpoint(denying)).createTable())
                    .isInstanceOf(LedgerException.class)
                    .hasMessageContaining(
                            "access denied. Allow dynamodb:DescribeTable, dynamodb:CreateTable on the table");
        } finally {
            denying.stop(0);
        }
    }

    @Test
    void should_read_the_entries_beside_an_item_that_it_did_not_write() throws Exception {
        try (Ledger ledger = open("foreign")) {
            put("note", Map.of());
            put("text", Map.of("version", AttributeValue.fromS("1"), "value", AttributeValue.fromS("{}")));
            put("half", Map.of("version", AttributeValue.fromN("1.5"), "value", AttributeValue.fromS("{}")));
            put("x".repeat(Ledger.MAX_KEY_CHARS + 1), Map.of());
            ledger.write("entry", 0, "{}").toCompletableFuture().get();

            assertThat(ledger.read().toCompletableFuture().get())
                    .containsExactlyInAnyOrder(
                            new Ledger.Entry("entry", 1, "{}"),
                            new Ledger.Entry("note", 1, ""),
                            new Ledger.Entry("text", 1, ""),
                            new Ledger.Entry("half", 1, ""));
        }
    }

    private void put(String key, Map<String, AttributeValue> attributes) {
        Map<String, AttributeValue> item = new HashMap<>(attributes);
        item.put("fleet", AttributeValue.fromS("foreign"));
        item.put("entry", AttributeValue.fromS(key));
        client.putItem(put -> put.tableName(TABLE).item(item)).join();
    }

    @Test
    void should_leave_a_table_unchanged_that_exists() {
        DynamoDbLedger.Table table = builder(dynamoDb.endpoint()).createTable();

        assertThat(table.created()).isFalse();
        assertThat(table.arn()).startsWith("arn:aws:dynamodb:").endsWith(":table/" + TABLE);
    }

    @Test
    void should_refuse_a_table_with_other_keys() {
        client.createTable(create -> create.tableName("items")
                        .billingMode(BillingMode.PAY_PER_REQUEST)
                        .keySchema(KeySchemaElement.builder()
                                .attributeName("id")
                                .keyType(KeyType.HASH)
                                .build())
                        .attributeDefinitions(AttributeDefinition.builder()
                                .attributeName("id")
                                .attributeType(ScalarAttributeType.N)
                                .build()))
                .join();

        assertThatThrownBy(() -> builder(dynamoDb.endpoint()).table("items").createTable())
                .isInstanceOf(LedgerException.class)
                .hasMessageEndingWith(":table/items: expected the keys fleet (HASH, S) and entry (RANGE, S),"
                        + " got id (HASH, N). Choose another table");
    }

    @Test
    void should_need_a_table_and_a_name() {
        assertThatThrownBy(() -> DynamoDbLedger.builder().region(REGION).build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("table: not set, expected the name of a DynamoDB table");
        assertThatThrownBy(() -> DynamoDbLedger.builder().fleet(""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("fleet: '', expected 1 to 255 characters");
    }
}
