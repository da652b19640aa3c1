package io.lambdadispatcher.aws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.core.spi.InvokeException;
import io.lambdadispatcher.core.spi.InvokeException.Reason;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs AWS's client against an endpoint that answers as Lambda's API reference says. */
class LambdaInvokerTest {
    private static final List<String> CREDENTIALS = List.of("aws.accessKeyId", "aws.secretAccessKey");

    private static final List<String> paths = new CopyOnWriteArrayList<>();
    private static volatile Answer answer;
    private static HttpServer lambda;
    private static LambdaInvoker invoker;

    private interface Answer {
        void to(HttpExchange exchange) throws IOException;
    }

    private static void reply(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    /** Once, because AWS's client takes two seconds to close. */
    @BeforeAll
    static void start() throws IOException {
        CREDENTIALS.forEach(name -> System.setProperty(name, "test"));
        lambda = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        lambda.createContext("/", exchange -> {
            paths.add(exchange.getRequestURI().getRawPath());
            answer.to(exchange);
        });
        lambda.start();
        invoker = invoker(lambda.getAddress().getPort());
    }

    @BeforeEach
    void answerAnything() {
        paths.clear();
        answer = exchange -> reply(exchange, 200, "{}");
    }

    private static LambdaInvoker invoker(int port) {
        return LambdaInvoker.builder()
                .function("f", "shop:live")
                .region("eu-central-1")
                .endpoint(FakeLambda.endpoint(port))
                .build();
    }

    @AfterAll
    static void stop() {
        invoker.close();
        lambda.stop(0);
        CREDENTIALS.forEach(System::clearProperty);
    }

    private static CompletableFuture<InvokeResult> invoke(String event) {
        return invoke(invoker, event);
    }

    private static CompletableFuture<InvokeResult> invoke(LambdaInvoker invoker, String event) {
        return invoker.invoke("f", event.getBytes(StandardCharsets.UTF_8)).toCompletableFuture();
    }

    @Test
    void should_bring_what_the_function_returns() throws Exception {
        answer = exchange -> {
            String event = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            reply(exchange, 200, "{\"got\":" + event + "}");
        };

        InvokeResult result = invoke("{\"a\":\"ü\"}").get(30, TimeUnit.SECONDS);

        assertThat(result.status()).isEqualTo(200);
        assertThat(result.functionError()).isNull();
        assertThat(new String(result.payload(), StandardCharsets.UTF_8)).isEqualTo("{\"got\":{\"a\":\"ü\"}}");
        assertThat(paths).containsExactly("/2015-03-31/functions/shop%3Alive/invocations");
    }

    @Test
    void should_tell_an_error_of_the_function_from_its_result() throws Exception {
        answer = exchange -> {
            exchange.getResponseHeaders().add("X-Amz-Function-Error", "Unhandled");
            reply(exchange, 200, "{\"errorMessage\":\"boom\"}");
        };

        InvokeResult result = invoke("{}").get(30, TimeUnit.SECONDS);

        assertThat(result.functionError()).isEqualTo("Unhandled");
        assertThat(new String(result.payload(), StandardCharsets.UTF_8)).contains("boom");
    }

    @ParameterizedTest
    @CsvSource({
        "429, TooManyRequestsException, THROTTLED",
        "502, EC2ThrottledException, THROTTLED",
        "404, ResourceNotFoundException, NOT_FOUND",
        "403, AccessDeniedException, REFUSED",
        "400, InvalidRequestContentException, REFUSED",
        "408, SnapStartTimeoutException, UNAVAILABLE",
        "409, ResourceConflictException, NOT_READY",
        "502, ENILimitReachedException, NOT_READY",
        "502, KMSDisabledException, REFUSED",
        "413, RequestTooLargeException, TOO_LARGE",
        "500, ServiceException, UNAVAILABLE"
    })
    void should_say_why_there_is_no_result_and_not_try_again(int status, String type, Reason reason) {
        answer = exchange -> {
            exchange.getResponseHeaders().add("x-amzn-ErrorType", type);
            reply(exchange, status, "{\"Message\":\"m\"}");
        };

        assertThat(reasonOf(invoke("{}"))).isEqualTo(reason);
        assertThat(paths).hasSize(1);
    }

    private static Reason reasonOf(CompletableFuture<InvokeResult> result) {
        ExecutionException error =
                catchThrowableOfType(ExecutionException.class, () -> result.get(30, TimeUnit.SECONDS));
        assertThat(error).hasCauseInstanceOf(InvokeException.class);
        return ((InvokeException) error.getCause()).reason();
    }

    @Test
    void should_say_that_nobody_answers() throws Exception {
        try (Socket deaf = FakeLambda.deaf()) {
            LambdaInvoker unanswered = invoker(deaf.getLocalPort());
            try {
                assertThat(reasonOf(invoke(unanswered, "{}"))).isEqualTo(Reason.UNAVAILABLE);
            } finally {
                unanswered.close();
            }
        }
    }

    @Test
    void should_invoke_nothing_that_is_not_configured() {
        assertThatThrownBy(() -> invoker.invoke("shop:live", new byte[0]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("function: shop:live, expected one of [f]");
        assertThat(paths).isEmpty();
    }
}
