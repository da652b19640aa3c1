package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.LambdaInvoker;
import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.it.directdemo.EventEcho;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import software.amazon.awssdk.core.SdkBytes;

/**
 * Tests direct requests with LocalStack: one invocation for each request, of a function without any
 * code of this project.
 */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA})
class DirectIT {
    private static final String FUNCTION = "direct" + ProcessHandle.current().pid();
    private static final int OVER_6_MIB = 6 * 1024 * 1024 + 1;

    private static Cloud cloud;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
        SdkBytes code = FunctionArchive.withPackageOf(EventEcho.class);
        cloud.createFunction(FUNCTION, Duration.ofSeconds(15), EventEcho.class.getName(), Map.of(), code);
    }

    @AfterAll
    static void stop() {
        cloud.close();
    }

    private static DispatcherBuilder dispatcher(FunctionOptions function, DirectOptions direct) {
        return Dispatcher.builder()
                .function(function)
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .direct(function.name(), direct)
                .invoker(LambdaInvoker.builder()
                        .function(function.name(), FUNCTION)
                        .region(Cloud.REGION)
                        .endpoint(cloud.endpoint())
                        .build());
    }

    private static URI uri(Dispatcher dispatcher, String path) {
        return URI.create(
                "http://127.0.0.1:" + dispatcher.publicAddresses().get(0).getPort() + path);
    }

    private HttpResponse<byte[]> post(Dispatcher dispatcher, String path, byte[] body) throws Exception {
        return client.send(
                HttpRequest.newBuilder(uri(dispatcher, path))
                        .header("content-type", "image/jpeg")
                        .POST(BodyPublishers.ofByteArray(body))
                        .build(),
                BodyHandlers.ofByteArray());
    }

    @ParameterizedTest
    @EnumSource
    void should_bring_a_binary_body_there_and_back(DirectEventFormat shape) throws Exception {
        byte[] image = new byte[168_161];
        new Random(3).nextBytes(image);
        try (Dispatcher dispatcher =
                dispatcher(FunctionOptions.of("echo"), DirectOptions.of(shape)).start()) {
            HttpResponse<byte[]> echo = post(dispatcher, "/a/b?c=d", image);

            assertThat(echo.statusCode()).isEqualTo(200);
            assertThat(echo.headers().firstValue("x-path")).contains("/a/b");
            assertThat(echo.body()).isEqualTo(image);
        }
    }

    @Test
    void should_answer_for_a_function_that_fails_or_outlives_its_time_or_gets_too_much() throws Exception {
        try (Dispatcher dispatcher = dispatcher(
                        FunctionOptions.of("echo"), DirectOptions.of(DirectEventFormat.HTTP_API_V2))
                .start()) {
            assertThat(post(dispatcher, "/fail", new byte[0]).statusCode()).isEqualTo(502);
            assertThat(post(dispatcher, "/slow", new byte[0]).statusCode()).isIn(502, 504);
            assertThat(post(dispatcher, "/", new byte[OVER_6_MIB]).statusCode()).isEqualTo(413);
            assertThat(post(dispatcher, "/", new byte[3]).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void should_send_what_waits_too_long_for_a_worker_directly() throws Exception {
        FunctionOptions function = FunctionOptions.builder("mixed")
                .capacity(CapacityPolicy.between(0, 1))
                .queue(10, Duration.ofSeconds(3))
                .build();
        DirectOptions overflow = DirectOptions.builder(DirectEventFormat.HTTP_API_V2)
                .spilloverAfter(Duration.ofMillis(300))
                .build();
        try (Dispatcher dispatcher = dispatcher(function, overflow)
                .launcher(LambdaLauncher.builder()
                        .function("mixed", "no-such-function")
                        .region(Cloud.REGION)
                        .endpoint(cloud.endpoint())
                        .build())
                .start()) {
            HttpResponse<byte[]> get =
                    client.send(HttpRequest.newBuilder(uri(dispatcher, "/x")).build(), BodyHandlers.ofByteArray());

            assertThat(get.statusCode()).isEqualTo(200);
            assertThat(get.headers().firstValue("x-path")).contains("/x");
            // A POST is not safe, so it waits for a worker until its timeout.
            assertThat(post(dispatcher, "/x", new byte[3]).statusCode()).isEqualTo(503);
        }
    }
}
