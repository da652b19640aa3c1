package io.lambdadispatcher.bench.lambda;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.LambdaInvoker;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.InvokeException;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the Invoke API over real sockets, with handwritten requests and with AWS's SDK. */
@Timeout(180)
class InvokeApiTest {
    private static final List<String> CREDENTIALS = List.of("aws.accessKeyId", "aws.secretAccessKey");

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final HttpClient client = HttpClient.newHttpClient();
    private Channel listener;
    private URI endpoint;

    @BeforeEach
    void start() throws InterruptedException {
        LambdaFunction echo = new LambdaFunction(
                "echo",
                new LambdaFunction.Limits(1, 60_000),
                () -> {},
                () -> (input, output, context) -> input.transferTo(output),
                timer);
        LambdaFunction broken = new LambdaFunction(
                "broken",
                new LambdaFunction.Limits(1, 60_000),
                () -> {},
                () -> (input, output, context) -> {
                    throw new IllegalStateException("asked to fail");
                },
                timer);
        listener = LambdaServer.start(0, List.of(echo, broken));
        endpoint = URI.create("http://127.0.0.1:" + ((InetSocketAddress) listener.localAddress()).getPort());
        CREDENTIALS.forEach(name -> System.setProperty(name, "test"));
    }

    @AfterEach
    void stop() throws InterruptedException {
        CREDENTIALS.forEach(System::clearProperty);
        listener.close().sync();
        timer.shutdownNow();
    }

    @Test
    void should_invoke_and_count() throws Exception {
        HttpResponse<String> answer = post("/2015-03-31/functions/echo/invocations", "{\"a\":1}", "RequestResponse");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body()).isEqualTo("{\"a\":1}");
        assertThat(answer.headers().firstValue("x-amz-executed-version")).hasValue("$LATEST");
        assertThat(answer.headers().firstValue("x-amz-function-error")).isEmpty();
        assertThat(get("/counts").body())
                .contains(
                        "\"echo\":{\"environments\":1,\"invocations\":1,\"coldStarts\":1,\"throttled\":0,\"timedOut\":0}");
    }

    @Test
    void should_start_nothing_in_a_dry_run() throws Exception {
        assertThat(post("/2015-03-31/functions/echo/invocations", "{}", "DryRun")
                        .statusCode())
                .isEqualTo(204);
        assertThat(get("/counts").body()).contains("\"echo\":{\"environments\":0,\"invocations\":0");
    }

    @Test
    void should_know_its_functions_and_its_operation_only() throws Exception {
        HttpResponse<String> answer = post("/2015-03-31/functions/other/invocations", "{}", "RequestResponse");

        assertThat(answer.statusCode()).isEqualTo(404);
        assertThat(answer.headers().firstValue("x-amzn-errortype")).hasValue("ResourceNotFoundException");
        assertThat(get("/2015-03-31/functions/echo").statusCode()).isEqualTo(404);
    }

    @Test
    void should_be_understood_by_the_direct_path() throws Exception {
        LambdaInvoker invoker = LambdaInvoker.builder()
                .function("echo", "echo")
                .function("broken", "broken")
                .function("other", "other")
                .region("us-east-1")
                .endpoint(endpoint)
                .build();
        try {
            assertThat(invoke(invoker, "echo", "{}").payload()).isEqualTo("{}".getBytes(StandardCharsets.UTF_8));
            assertThat(invoke(invoker, "broken", "{}").functionError()).isEqualTo("Unhandled");
            assertThat(invoker.invoke("other", new byte[0]).toCompletableFuture())
                    .failsWithin(20, TimeUnit.SECONDS)
                    .withThrowableOfType(Exception.class)
                    .havingCause()
                    .isInstanceOf(InvokeException.class)
                    .withMessageContaining("Function not found");
        } finally {
            invoker.close();
        }
    }

    private static FunctionInvoker.InvokeResult invoke(LambdaInvoker invoker, String function, String event)
            throws Exception {
        return invoker.invoke(function, event.getBytes(StandardCharsets.UTF_8))
                .toCompletableFuture()
                .get(20, TimeUnit.SECONDS);
    }

    private HttpResponse<String> post(String path, String body, String type) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(endpoint.resolve(path))
                .header("x-amz-invocation-type", type)
                .POST(BodyPublishers.ofString(body))
                .build();
        return client.send(request, BodyHandlers.ofString());
    }

    private HttpResponse<String> get(String path) throws Exception {
        return client.send(HttpRequest.newBuilder(endpoint.resolve(path)).build(), BodyHandlers.ofString());
    }
}
