package io.lambdadispatcher.bench.lambda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.bench.workload.Database;
import io.lambdadispatcher.bench.workload.Wait;
import io.lambdadispatcher.bench.workload.WorkloadHandler;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class EventFunctionTest {
    private static final int IMAGE_BYTES = 168_161;

    private final ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor();
    private final Handler workload = new WorkloadHandler(new Wait(1, 0), Database.none());

    @AfterEach
    void stop() {
        timers.shutdownNow();
    }

    @Test
    void should_answer_text_as_text() throws IOException {
        assertThat(answer(workload, event("GET", "/ping", "", false)))
                .startsWith("{\"statusCode\":200,\"headers\":{\"content-type\":\"text/plain\"")
                .endsWith("\"isBase64Encoded\":false,\"body\":\"pong\"}");
    }

    @Test
    void should_answer_bytes_as_base64() throws IOException {
        byte[] image = decodedBody(answer(workload, event("GET", "/public/silly-test-image.jpg", "", false)));

        assertThat(image).hasSize(IMAGE_BYTES);
    }

    @Test
    void should_give_the_same_image_after_a_wait() throws IOException {
        assertThat(decodedBody(answer(workload, event("GET", "/s3/image", "", false))))
                .isEqualTo(decodedBody(answer(workload, event("GET", "/public/silly-test-image.jpg", "", false))));
    }

    @Test
    void should_decode_a_request_and_encode_its_echo() throws IOException {
        byte[] bytes = new byte[100_001];
        new Random(1).nextBytes(bytes);

        String answer =
                answer(workload, event("POST", "/echo", Base64.getEncoder().encodeToString(bytes), true));

        assertThat(decodedBody(answer)).isEqualTo(bytes);
    }

    @Test
    void should_pass_text_on_as_it_is() throws IOException {
        assertThat(answer(workload, event("POST", "/echo", "gr\u00fc\\\"n", false)))
                .contains("\"isBase64Encoded\":true") // by its type: application/octet-stream
                .contains(Base64.getEncoder().encodeToString("gr\u00fc\"n".getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void should_give_a_handler_the_whole_body() throws IOException {
        Handler reading = (request, response) ->
                request.body().readAll(5, body -> response.respond(200, new String(body, StandardCharsets.UTF_8)));

        assertThat(answer(reading, event("POST", "/", "green", false)))
                .contains("\"statusCode\":200", "\"body\":\"green\"");
        assertThat(answer(reading, event("POST", "/", "yellow", false)))
                .contains("\"statusCode\":413", "the request's body is longer than 5 bytes");
    }

    @Test
    void should_put_the_parts_of_a_response_together() throws IOException {
        Handler parts = (request, response) -> {
            response.head(200);
            for (String part : new String[] {"one, ", "two, ", "three"}) {
                response.write(Unpooled.copiedBuffer(part, StandardCharsets.UTF_8));
            }
            response.end();
        };

        assertThat(new String(decodedBody(answer(parts, event("GET", "/", "", false))), StandardCharsets.UTF_8))
                .isEqualTo("one, two, three");
    }

    @Test
    void should_wait_for_a_handler_that_answers_from_another_thread() throws IOException {
        Handler ending = (request, response) -> request.eventLoop().execute(() -> {
            response.head(204);
            response.end();
        });

        assertThat(answer(ending, event("GET", "/", "", false))).contains("\"statusCode\":204", "\"body\":\"\"");
    }

    @Test
    void should_fail_where_the_handler_throws_or_breaks_off() {
        Handler throwing = (request, response) -> {
            throw new IllegalStateException("asked to");
        };
        Handler failing = (request, response) -> response.fail(FailureReason.HANDLER_FAILED, "no way");

        assertThatThrownBy(() -> answer(throwing, event("GET", "/", "", false))).hasMessageContaining("asked to");
        assertThatThrownBy(() -> answer(failing, event("GET", "/", "", false)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("no way");
    }

    @Test
    void should_end_when_the_environment_is_killed() throws InterruptedException {
        Handler silent = (request, response) -> Thread.currentThread().interrupt();

        assertThatThrownBy(() -> answer(silent, event("GET", "/", "", false))).hasMessage("killed");
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void should_refuse_what_is_no_event() {
        assertThatThrownBy(() -> answer(workload, "[]")).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> answer(workload, "{\"httpMethod\":")).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> answer(workload, event("POST", "/echo", "%%%", true)))
                .isInstanceOf(IOException.class);
    }

    private String answer(Handler handler, String event) throws IOException {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        EnvironmentInvocation invocation =
                new EnvironmentInvocation("f", event.getBytes(StandardCharsets.UTF_8), TimeUnit.MINUTES.toNanos(1));
        invocation.begin();
        new EventFunction(handler, timers)
                .handleRequest(new ByteArrayInputStream(invocation.payload), output, invocation);
        return output.toString(StandardCharsets.UTF_8);
    }

    private static byte[] decodedBody(String answer) {
        assertThat(answer).contains("\"isBase64Encoded\":true");
        int start = answer.indexOf("\"body\":\"") + 8;
        return Base64.getDecoder().decode(answer.substring(start, answer.lastIndexOf('"')));
    }

    /** @param body in the encoding of the JSON event */
    private static String event(String method, String path, String body, boolean base64) {
        return """
                {"requestContext":{"elb":{"targetGroupArn":"t"}},"httpMethod":"%s","path":"%s","queryStringParameters":{},
                 "headers":{"host":"localhost"},"body":"%s","isBase64Encoded":%s}""".formatted(method, path, body, base64);
    }
}
