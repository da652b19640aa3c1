package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.CapacityPolicy;
import io.lambdadispatcher.core.FunctionOptions;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Workers that LocalStack runs as Lambda functions, each in its own container, invoked through the AWS SDK. */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA})
class LocalStackIT {
    private static Cloud cloud;

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
    }

    @AfterAll
    static void stop() {
        cloud.close();
    }

    private static FunctionOptions function(String name, CapacityPolicy capacity) {
        return FunctionOptions.of(name)
                .withCapacity(capacity)
                .withStreams(1, 10)
                .withPending(1000, Duration.ofSeconds(30));
    }

    @Test
    void should_serve_from_a_function_that_the_first_request_launches() throws Exception {
        cloud.createWorkerFunction("first", Duration.ofSeconds(120));
        try (CloudRig rig = new CloudRig(cloud.endpoint(), function("first", CapacityPolicy.between(0, 2)))) {
            HttpResponse<byte[]> pong = rig.get("/ping");
            assertThat(pong.statusCode()).isEqualTo(200);
            assertThat(new String(pong.body())).isEqualTo("pong");

            HttpResponse<byte[]> image = rig.get("/public/silly-test-image.jpg");
            assertThat(image.statusCode()).isEqualTo(200);
            assertThat(image.body()).hasSize(168_161);

            byte[] large = new byte[9_365_076];
            new Random(1).nextBytes(large);
            HttpResponse<byte[]> echo = rig.post("/echo", large);
            assertThat(echo.statusCode()).isEqualTo(200);
            assertThat(echo.body()).isEqualTo(large);
            assertThat(rig.pool().workers()).isEqualTo(1);
        }
    }
}
