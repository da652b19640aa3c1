package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import com.example.aws.AwsHandler;
import com.github.dockerjava.api.DockerClient;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import java.io.InputStream;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.testcontainers.DockerClientFactory;
import software.amazon.awssdk.core.async.AsyncRequestBody;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Tests the function of examples/aws, with S3 in LocalStack and with DynamoDB Local in this JVM.
 */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA})
@EnabledOnOs(value = OS.LINUX, architectures = "amd64", disabledReason = "DynamoDB Local's native library is for amd64")
class AwsRoutesIT {
    /**
     * Is unique, because containers are found by this name, and those of earlier runs may exist.
     */
    private static final String FUNCTION = "aws" + ProcessHandle.current().pid();

    private static final String BUCKET = "images";
    private static final String TABLE = "items";
    private static final String KEY = "silly/test image.jpg";
    private static final String READ_S3 = "/read-s3?key=silly%2Ftest%20image.jpg";

    private static byte[] image;
    private static Cloud cloud;
    private static DynamoDb dynamoDb;
    private static CloudRig rig;

    @BeforeAll
    static void start() throws Exception {
        image = image();
        cloud = Cloud.start();
        dynamoDb = DynamoDb.start();
        dynamoDb.createTable(TABLE, "id");
        putImage();
        createFunction();
        rig = new CloudRig(
                cloud.endpoint(),
                FunctionOptions.builder(FUNCTION)
                        .capacity(CapacityPolicy.between(0, 1))
                        .launching(LaunchLimits.builder()
                                .launchTimeout(Duration.ofSeconds(90))
                                .build())
                        .streamsPerConnection(10)
                        .queue(1000, Duration.ofSeconds(90))
                        .build());
    }

    private static byte[] image() throws Exception {
        try (InputStream in = AwsRoutesIT.class.getResourceAsStream("/public/silly-test-image.jpg")) {
            return in.readAllBytes();
        }
    }

    private static void putImage() {
        try (S3AsyncClient s3 = S3AsyncClient.builder()
                .httpClientBuilder(NettyNioAsyncHttpClient.builder())
                .endpointOverride(cloud.endpoint())
                .region(Region.of(Cloud.REGION))
                .forcePathStyle(true)
                .build()) {
            s3.createBucket(create -> create.bucket(BUCKET)).join();
            s3.putObject(
                            put -> put.bucket(BUCKET).key(KEY).contentType("image/jpeg"),
                            AsyncRequestBody.fromBytes(image))
                    .join();
        }
    }

    /** In the container, LocalStack's {@code AWS_ENDPOINT_URL} is the address of S3. */
    private static void createFunction() {
        cloud.createFunction(
                FUNCTION,
                Duration.ofSeconds(120),
                Cloud.WORKER,
                Map.of(
                        "LAMBDA_DISPATCHER_HANDLER",
                        AwsHandler.class.getName(),
                        AwsHandler.BUCKET,
                        BUCKET,
                        AwsHandler.TABLE,
                        TABLE,
                        "AWS_ENDPOINT_URL_DYNAMODB",
                        dynamoDb.endpointForFunctions()),
                FunctionArchive.ofAwsExample());
    }

    @AfterAll
    static void stop() throws Exception {
        if (rig != null) {
            rig.close();
        }
        if (dynamoDb != null) {
            dynamoDb.close();
        }
        if (cloud != null) {
            cloud.close();
        }
    }

    @Test
    void should_stream_an_object_unchanged_to_many_clients_at_once() throws Exception {
        String expected = sha256(image);
        ExecutorService clients = Executors.newFixedThreadPool(10);
        try {
            Callable<HttpResponse<byte[]>> read = () -> rig.get(READ_S3);
            List<Future<HttpResponse<byte[]>>> reads = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                reads.add(clients.submit(read));
            }
            for (Future<HttpResponse<byte[]>> done : reads) {
                HttpResponse<byte[]> response = done.get();
                assertThat(response.statusCode()).isEqualTo(200);
                assertThat(response.headers().firstValue("content-type")).contains("image/jpeg");
                assertThat(response.headers().firstValue("content-length")).contains("168161");
                assertThat(sha256(response.body())).isEqualTo(expected);
            }
        } finally {
            clients.shutdownNow();
        }
        assertThat(rig.pool().workers()).isEqualTo(1);
    }

    private static String sha256(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }

    @Test
    void should_answer_404_where_there_is_no_object() throws Exception {
        assertThat(rig.get("/read-s3?key=missing").statusCode()).isEqualTo(404);
    }

    @Test
    void should_answer_400_where_a_parameter_is_wrong() throws Exception {
        assertThat(rig.get("/dynamodb-put?n=many").statusCode()).isEqualTo(400);
        assertThat(rig.get("/dynamodb-put?n=1001").statusCode()).isEqualTo(400);
    }

    @Test
    void should_put_items_that_are_there_afterwards() throws Exception {
        HttpResponse<byte[]> response = rig.get("/dynamodb-put?n=10");

        assertThat(response.statusCode()).isEqualTo(200);
        JsonNode answer = json(response);
        assertThat(answer.get("tookMicros")).hasSize(10).allMatch(micros -> micros.asLong() > 0);
        String batch = answer.get("batch").asString();
        List<Map<String, AttributeValue>> found = dynamoDb.scan(TABLE).stream()
                .filter(item -> item.get("id").s().startsWith(batch))
                .toList();
        assertThat(found)
                .extracting(item -> item.get("number").n())
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 10).mapToObj(Integer::toString).toList());
    }

    @Test
    void should_put_items_over_the_connection_that_is_there() throws Exception {
        assertThat(rig.get("/dynamodb-put").statusCode()).isEqualTo(200);
        long connections = dynamoDb.server().connections();

        assertThat(rig.get("/dynamodb-put?n=10").statusCode()).isEqualTo(200);

        assertThat(connections).isPositive();
        assertThat(dynamoDb.server().connections()).isEqualTo(connections);
    }

    /** Freezes the container for a moment, and for longer than the idle timeout of connections. */
    @ParameterizedTest
    @ValueSource(ints = {300, 6_000})
    void should_not_fail_after_a_freeze_in_which_connections_were_closed(int frozenMillis) throws Exception {
        assertThat(rig.get("/dynamodb-put").statusCode()).isEqualTo(200);
        List<String> containers = Cloud.containersOf(FUNCTION);
        assertThat(containers).hasSize(1);
        long connections = dynamoDb.server().connections();
        DockerClient docker = DockerClientFactory.lazyClient();
        docker.pauseContainerCmd(containers.get(0)).exec();
        try {
            dynamoDb.server().closeConnections();
            Thread.sleep(frozenMillis); // The container's clock continues while it is paused.
        } finally {
            docker.unpauseContainerCmd(containers.get(0)).exec();
        }

        HttpResponse<byte[]> response = rig.get("/dynamodb-put?n=10");

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(dynamoDb.server().connections()).isEqualTo(connections + 1);
    }

    private static JsonNode json(HttpResponse<byte[]> response) {
        return JsonMapper.shared().readTree(response.body());
    }

    @Test
    void should_serve_a_route_without_aws() throws Exception {
        assertThat(new String(rig.get("/ping").body())).isEqualTo("pong\n");
    }
}
