package io.lambdadispatcher.aws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;

/**
 * Runs against a Lambda on loopback. It also shows that the SDK's HTTP client, made for Netty 4.1,
 * works with 4.2.
 */
@EachRelease
@Timeout(120)
class LambdaLauncherTest {
    private static final int MANY = 500;

    private FakeLambda lambda;
    private LambdaLauncher launcher;

    @BeforeAll
    static void giveCredentials() {
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
    }

    @AfterAll
    static void takeCredentials() {
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }

    @BeforeEach
    void open() throws IOException {
        lambda = new FakeLambda();
        launcher = launcher(lambda.endpoint(), "hello:live");
    }

    @AfterEach
    void close() {
        launcher.close(Duration.ZERO);
        lambda.close();
    }

    private static LambdaLauncher launcher(URI endpoint, String function) {
        return LambdaLauncher.builder()
                .function("api", function)
                .region("us-east-1")
                .endpoint(endpoint)
                .maxInvocations(MANY)
                .build();
    }

    private static LaunchRequest request(String workerId) {
        return new LaunchRequest(
                "api",
                workerId,
                "v1.token",
                List.of(InetSocketAddress.createUnresolved("10.0.0.7", 8444)),
                2,
                50,
                List.of("ab12", "cd34"),
                Duration.ofMinutes(14),
                "",
                0);
    }

    private static WorkerExit exit(LaunchedWorker worker) throws Exception {
        return worker.exit().toCompletableFuture().get(20, TimeUnit.SECONDS);
    }

    private static boolean isGone(LaunchedWorker worker) {
        return worker.exit().toCompletableFuture().isDone();
    }

    @Test
    void should_hold_the_invoke_open_and_end_with_the_worker() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        FakeLambda.Invoke invoke = lambda.take();

        assertThat(invoke.path()).isEqualTo("/2015-03-31/functions/hello:live/invocations");
        assertThat(invoke.header("X-Amz-Invocation-Type")).isEqualTo("RequestResponse");
        assertThat(invoke.header("X-Amz-Log-Type")).isEqualTo("Tail");
        assertThat(invoke.body()).isEqualTo(LaunchPayload.json(request("w1")));
        assertThat(isGone(worker)).isFalse();

        invoke.answer(200, Map.of(), "{\"nested\":{\"reason\":\"x\"},\"requests\":7,\"reason\":\"SCALE_IN\"}");

        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.ENDED, "SCALE_IN after 7 requests"));
    }

    @Test
    void should_tell_the_end_of_a_worker_whose_result_is_not_utf_8() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        lambda.take().answer(200, Map.of("X-Amz-Function-Error", "Unhandled"), new byte[] {'h', (byte) 0xE9, '!'});

        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.FAILED, "Unhandled: h\uFFFD!"));
    }

    private CompletableFuture<String> version() {
        return launcher.version("api").toCompletableFuture();
    }

    @Test
    void should_ask_for_the_version_of_the_alias_and_whether_it_may_be_invoked() throws Exception {
        CompletableFuture<String> version = version();
        FakeLambda.Invoke get = lambda.take();
        assertThat(get.path()).isEqualTo("/2015-03-31/functions/hello/aliases/live");
        get.answer(200, Map.of(), "{\"Name\":\"live\",\"FunctionVersion\":\"7\"}");
        FakeLambda.Invoke dryRun = lambda.take();
        assertThat(dryRun.header("X-Amz-Invocation-Type")).isEqualTo("DryRun");
        assertThat(dryRun.exchange().getRequestURI())
                .hasToString("/2015-03-31/functions/hello/invocations?Qualifier=7");
        dryRun.answer(204, Map.of(), "");
        assertThat(version.get(20, TimeUnit.SECONDS)).isEqualTo("7");

        CompletableFuture<String> again = version();
        lambda.take().answer(200, Map.of(), "{\"Name\":\"live\",\"FunctionVersion\":\"7\"}");
        assertThat(again.get(20, TimeUnit.SECONDS))
                .as("without another dry run")
                .isEqualTo("7");
    }

    @Test
    void should_not_follow_an_alias_whose_versions_may_not_be_invoked() throws Exception {
        CompletableFuture<String> version = version();
        lambda.take().answer(200, Map.of(), "{\"Name\":\"live\",\"FunctionVersion\":\"7\"}");
        lambda.take().error(403, "AccessDeniedException", "{\"Message\":\"may not lambda:InvokeFunction\"}");

        assertThatThrownBy(() -> version.get(20, TimeUnit.SECONDS))
                .hasMessageContaining("Invoke of hello:7: may not lambda:InvokeFunction");
    }

    @Test
    void should_say_which_permission_is_missing_for_an_alias() {
        CompletableFuture<String> version = version();
        assertThatThrownBy(() -> {
                    lambda.take().error(403, "AccessDeniedException", "{\"Message\":\"may not lambda:GetAlias\"}");
                    version.get(20, TimeUnit.SECONDS);
                })
                .hasMessageContaining("GetAlias of hello:live: may not lambda:GetAlias");
    }

    @Test
    void should_not_wait_longer_than_10_s_for_the_version_of_an_alias() throws Exception {
        CompletableFuture<String> version = version();
        lambda.take();

        assertThatThrownBy(() -> version.get(20, TimeUnit.SECONDS)).hasMessageContaining("GetAlias of hello:live: ");
    }

    private CompletableFuture<String> versionLike(String stated) {
        return launcher.versionLike("api", stated).toCompletableFuture();
    }

    @Test
    void should_find_the_published_version_whose_number_the_base_states() throws Exception {
        CompletableFuture<String> version = versionLike("8");
        FakeLambda.Invoke dryRun = lambda.take();
        assertThat(dryRun.header("X-Amz-Invocation-Type")).isEqualTo("DryRun");
        assertThat(dryRun.exchange().getRequestURI())
                .hasToString("/2015-03-31/functions/hello/invocations?Qualifier=8");
        dryRun.answer(204, Map.of(), "");

        assertThat(version.get(20, TimeUnit.SECONDS)).isEqualTo("8");
    }

    @Test
    void should_notice_that_the_version_that_the_base_states_was_deleted() throws Exception {
        CompletableFuture<String> version = versionLike("8");
        lambda.take().answer(204, Map.of(), "");
        assertThat(version.get(20, TimeUnit.SECONDS)).isEqualTo("8");
        CompletableFuture<String> again = versionLike("8");
        lambda.take().error(404, "ResourceNotFoundException", "{\"Message\":\"Function not found\"}");

        assertThat(again.get(20, TimeUnit.SECONDS)).isEmpty();
    }

    @Test
    void should_find_the_version_of_the_alias_that_the_base_states() throws Exception {
        CompletableFuture<String> version = versionLike("release-42");
        FakeLambda.Invoke get = lambda.take();
        assertThat(get.path()).isEqualTo("/2015-03-31/functions/hello/aliases/release-42");
        get.answer(200, Map.of(), "{\"Name\":\"release-42\",\"FunctionVersion\":\"9\"}");
        lambda.take().answer(204, Map.of(), "");

        assertThat(version.get(20, TimeUnit.SECONDS)).isEqualTo("9");
    }

    @ParameterizedTest
    @ValueSource(strings = {"8", "release-42"})
    void should_find_no_version_that_is_not_published(String stated) throws Exception {
        CompletableFuture<String> version = versionLike(stated);
        lambda.take().error(404, "ResourceNotFoundException", "{\"Message\":\"Function not found\"}");

        assertThat(version.get(20, TimeUnit.SECONDS)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.4.2", "$LATEST"})
    void should_ask_for_no_version_that_lambda_cannot_have_published(String stated) {
        assertThat(versionLike(stated)).isCompletedWithValue("");
        assertThat(lambda.untaken()).isZero();
    }

    @Test
    void should_not_take_a_missing_permission_for_a_missing_version() {
        CompletableFuture<String> version = versionLike("8");
        assertThatThrownBy(() -> {
                    lambda.take().error(403, "AccessDeniedException", "{\"Message\":\"may not invoke\"}");
                    version.get(20, TimeUnit.SECONDS);
                })
                .hasMessageContaining("Invoke of hello:8: may not invoke");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hello",
                "hello:7",
                "hello:$LATEST",
                "arn:aws:lambda:us-east-1:123456789012:function:hello",
                "123456789012:function:hello:12"
            })
    void should_know_no_version_without_an_alias(String function) {
        try (LambdaLauncher other = launcher(lambda.endpoint(), function)) {
            assertThat(other.version("api")).isCompletedWithValue("");
        }
        assertThat(lambda.untaken()).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "hello:live, hello",
        "function:hello:live, function:hello",
        "arn:aws:lambda:us-east-1:123456789012:function:hello:live,"
                + " arn:aws:lambda:us-east-1:123456789012:function:hello"
    })
    void should_launch_a_certain_version(String alias, String function) throws Exception {
        try (LambdaLauncher other = launcher(lambda.endpoint(), alias)) {
            LaunchRequest any = request("w1");
            other.launch(new LaunchRequest(
                    any.function(),
                    any.workerId(),
                    any.token(),
                    any.advertisedAddresses(),
                    any.connections(),
                    any.streamsPerConnection(),
                    any.tlsFingerprints(),
                    any.maxLife(),
                    "6",
                    0));
            FakeLambda.Invoke invoke = lambda.take();
            assertThat(invoke.path()).isEqualTo("/2015-03-31/functions/" + function + "/invocations");
            assertThat(invoke.exchange().getRequestURI().getQuery()).isEqualTo("Qualifier=6");
            invoke.answer(200, Map.of(), "{}");
        }
    }

    @Test
    void should_invoke_an_arn_of_another_account() throws Exception {
        String arn = "arn:aws:lambda:us-east-1:123456789012:function:hello:7";
        try (LambdaLauncher other = launcher(lambda.endpoint(), arn)) {
            LaunchedWorker worker = other.launch(request("w1"));
            FakeLambda.Invoke invoke = lambda.take();

            assertThat(invoke.path()).isEqualTo("/2015-03-31/functions/" + arn + "/invocations");

            invoke.answer(200, Map.of(), "{}");
            assertThat(exit(worker).cause()).isEqualTo(Cause.ENDED);
        }
    }

    @Test
    void should_say_how_the_function_failed() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        String log = "START RequestId: 1\nException in thread \"main\"\nout of luck\nEND RequestId: 1\nREPORT 1\n";

        lambda.take()
                .answer(
                        200,
                        Map.of(
                                "X-Amz-Function-Error",
                                "Unhandled",
                                "X-Amz-Log-Result",
                                Base64.getEncoder().encodeToString(log.getBytes(StandardCharsets.UTF_8))),
                        "{\"errorMessage\":\"no\\nluck\",\"errorType\":\"java.lang.Error\",\"stackTrace\":[\"a\"]}");

        assertThat(exit(worker))
                .isEqualTo(new WorkerExit(
                        Cause.FAILED, "Unhandled: java.lang.Error: no luck; last log line: out of luck"));
    }

    /** AWS's runtime for Java writes the causes of an exception into its error. */
    @Test
    void should_tell_the_root_cause_of_a_function_that_failed() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        String rootCause = "{\"errorMessage\":\"no table t\",\"errorType\":\"SqlException\",\"stackTrace\":[]}";

        lambda.take()
                .answer(
                        200,
                        Map.of("X-Amz-Function-Error", "Unhandled"),
                        "{\"errorMessage\":\"cannot start\",\"errorType\":\"Error\",\"stackTrace\":[\"a\"],\"cause\":"
                                + rootCause + "}");

        assertThat(exit(worker).detail()).isEqualTo("Unhandled: Error: cannot start: SqlException: no table t");
    }

    @Test
    void should_bound_what_a_function_says() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));

        lambda.take()
                .answer(
                        200,
                        Map.of("X-Amz-Function-Error", "Unhandled", "X-Amz-Log-Result", "b29wcw==="),
                        "not JSON\n".repeat(10_000));

        WorkerExit exit = exit(worker);
        assertThat(exit.cause()).isEqualTo(Cause.FAILED);
        assertThat(exit.detail()).startsWith("Unhandled: not JSON not JSON").hasSizeLessThan(4_100);
    }

    @Test
    void should_keep_the_last_log_line_when_the_message_is_long() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        String log = Base64.getEncoder().encodeToString("why\n".getBytes(StandardCharsets.UTF_8));

        lambda.take()
                .answer(
                        200,
                        Map.of("X-Amz-Function-Error", "Unhandled", "X-Amz-Log-Result", log),
                        "{\"errorMessage\":\"" + "long ".repeat(1_000) + "\"}");

        assertThat(exit(worker).detail()).endsWith("; last log line: why").hasSizeLessThan(4_100);
    }

    @Test
    void should_end_a_worker_whose_log_cannot_be_decoded() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));

        lambda.take()
                .answer(
                        200,
                        Map.of("X-Amz-Function-Error", "Unhandled", "X-Amz-Log-Result", "A"),
                        "{\"errorMessage\":\"no\"}");

        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.FAILED, "Unhandled: no"));
    }

    @Test
    void should_tell_throttles_by_their_reason() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));

        lambda.take()
                .error(
                        429,
                        "TooManyRequestsException",
                        "{\"Reason\":\"ReservedFunctionConcurrentInvocationLimitExceeded\",\"message\":\"Rate Exceeded.\"}");

        WorkerExit exit = exit(worker);
        assertThat(exit.cause()).isEqualTo(Cause.THROTTLED);
        assertThat(exit.detail()).startsWith("ReservedFunctionConcurrentInvocationLimitExceeded: Rate Exceeded.");
    }

    @ParameterizedTest
    @CsvSource({
        "404, ResourceNotFoundException, REFUSED",
        "403, AccessDeniedException, REFUSED",
        "403, UnrecognizedClientException, REFUSED",
        "400, InvalidParameterValueException, REFUSED",
        "408, SnapStartTimeoutException, FAILED",
        "408, EFSMountTimeoutException, FAILED",
        "409, SnapStartNotReadyException, NOT_READY",
        "409, ResourceConflictException, NOT_READY",
        "429, CodeArtifactUserPendingException, THROTTLED",
        "502, EC2ThrottledException, THROTTLED",
        "409, CodeArtifactUserPendingException, NOT_READY",
        "502, ResourceNotReadyException, NOT_READY",
        "502, ENINotReadyException, NOT_READY",
        "502, ENILimitReachedException, NOT_READY",
        "502, SubnetIPAddressLimitReachedException, NOT_READY",
        "502, KMSAccessDeniedException, REFUSED",
        "400, SnapStartException, FAILED",
        "410, EFSIOException, FAILED",
        "418, NewException, REFUSED",
        "502, NewException, FAILED",
        "500, ServiceException, FAILED",
        "503, ServiceUnavailable, FAILED",
    })
    void should_judge_an_error_answer(int status, String type, Cause cause) throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));

        lambda.take().error(status, type, "{\"message\":\"because\\nof this\"}");

        WorkerExit exit = exit(worker);
        assertThat(exit.cause()).isEqualTo(cause);
        assertThat(exit.detail())
                .contains("because of this")
                .doesNotContain("\n")
                .doesNotContain("v1.token");
        assertThat(lambda.untaken()).as("tried again").isZero();
    }

    @Test
    void should_fail_once_when_the_connection_drops() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));

        lambda.take().drop();

        assertThat(exit(worker).cause()).isEqualTo(Cause.LOST);
        assertThat(lambda.untaken()).as("tried again").isZero();
    }

    @Test
    void should_know_that_no_worker_runs_when_nobody_listens() throws Exception {
        try (Socket deaf = FakeLambda.deaf();
                LambdaLauncher other = launcher(FakeLambda.endpoint(deaf.getLocalPort()), "hello")) {
            WorkerExit exit = exit(other.launch(request("w1")));

            assertThat(exit.cause()).isEqualTo(Cause.UNAVAILABLE);
            assertThat(exit.detail()).doesNotContain("v1.token");
        }
    }

    private static Stream<Arguments> failures() {
        return Stream.of(
                arguments(new UnknownHostException("lambda.us-east-1.amazonaws.com"), Cause.UNAVAILABLE),
                arguments(new NoRouteToHostException("No route to host"), Cause.UNAVAILABLE),
                arguments(new ConnectTimeoutException("connection timed out"), Cause.UNAVAILABLE),
                arguments(
                        new TimeoutException("Acquire operation took longer than 30000 milliseconds."),
                        Cause.UNAVAILABLE),
                arguments(new IOException("Read timed out"), Cause.LOST),
                arguments(new IOException("Connection reset by peer"), Cause.LOST));
    }

    /** The client says more about an acquisition that took too long. */
    @ParameterizedTest
    @MethodSource("failures")
    void should_know_whether_a_worker_may_run(Exception failure, Cause cause) {
        SdkClientException thrown =
                SdkClientException.create("Unable to execute HTTP request", new Throwable("why", failure));

        assertThat(InvokeOutcome.of(new CompletionException(thrown)).cause()).isEqualTo(cause);
    }

    @Test
    void should_know_that_no_worker_runs_when_there_are_no_credentials() throws Exception {
        takeCredentials();
        System.setProperty("aws.disableEc2Metadata", "true");
        try {
            WorkerExit exit = exit(launcher.launch(request("w1")));

            assertThat(exit.cause()).as(exit.detail()).isEqualTo(Cause.UNAVAILABLE);
            assertThat(lambda.untaken()).isZero();
        } finally {
            System.clearProperty("aws.disableEc2Metadata");
            giveCredentials();
        }
    }

    /** The second launch waits for the only connection, and the third would wait for the second. */
    @Test
    void should_know_that_no_worker_runs_when_there_are_too_many_invocations() throws Exception {
        try (LambdaLauncher other = LambdaLauncher.builder()
                .function("api", "hello")
                .region("us-east-1")
                .endpoint(lambda.endpoint())
                .maxInvocations(1)
                .build()) {
            LaunchedWorker running = other.launch(request("w1"));
            lambda.take();
            other.launch(request("w2"));

            assertThat(exit(other.launch(request("w3"))).cause()).isEqualTo(Cause.UNAVAILABLE);
            assertThat(isGone(running)).isFalse();
            other.close(Duration.ZERO);
        }
    }

    @Test
    void should_hold_many_invokes_at_once() throws Exception {
        List<LaunchedWorker> workers = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            workers.add(launcher.launch(request("w" + i)));
        }
        List<FakeLambda.Invoke> invokes = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            invokes.add(lambda.take());
        }
        assertThat(workers).noneMatch(LambdaLauncherTest::isGone);

        invokes.forEach(invoke -> invoke.answer(200, Map.of(), "{\"reason\":\"DEADLINE\"}"));

        for (LaunchedWorker worker : workers) {
            assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.ENDED, "DEADLINE"));
        }
    }

    @Test
    void should_cut_the_connection_of_a_killed_worker() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                LambdaLauncher other = launcher(URI.create("http://127.0.0.1:" + server.getLocalPort()), "hello")) {
            LaunchedWorker worker = other.launch(request("w1"));
            server.setSoTimeout(20_000);
            try (Socket connection = server.accept()) {
                connection.setSoTimeout(20_000);
                InputStream bytes = connection.getInputStream();
                assertThat(bytes.read()).as("the request has begun").isEqualTo('P');

                worker.kill();

                assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.LOST, "terminated by the dispatcher"));
                assertThat(readToEnd(bytes)).isTrue();
            }
        }
    }

    /** The event loop calls kill, possibly while the SDK fetches credentials. */
    @Test
    void should_not_wait_for_the_client_when_it_kills() throws Exception {
        LambdaLauncher.Invoke invoke = new LambdaLauncher.Invoke();
        CompletableFuture<InvokeResponse> call = new CompletableFuture<>();
        CountDownLatch fetching = new CountDownLatch(1);
        CountDownLatch fetched = new CountDownLatch(1);
        // Separate threads, because the common pool may have only one.
        Executor threads = task -> new Thread(task, "invoke-test").start();
        CompletableFuture<Void> started = CompletableFuture.runAsync(
                () -> invoke.start(() -> {
                    fetching.countDown();
                    try {
                        fetched.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    return call;
                }),
                threads);
        assertThat(fetching.await(20, TimeUnit.SECONDS)).isTrue();
        CompletableFuture<Void> killed = CompletableFuture.runAsync(invoke::kill, threads);
        try {
            killed.get(10, TimeUnit.SECONDS);
        } finally {
            fetched.countDown();
        }

        assertThat(exit(invoke)).isEqualTo(new WorkerExit(Cause.LOST, "terminated by the dispatcher"));
        started.get(20, TimeUnit.SECONDS);
        assertThat(call).as("what was begun meanwhile").isCancelled();
    }

    private static boolean readToEnd(InputStream bytes) {
        try {
            bytes.readAllBytes();
            return true;
        } catch (java.net.SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true; // a reset also ends the connection
        }
    }

    @Test
    void should_wait_for_invokes_when_it_closes() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        FakeLambda.Invoke invoke = lambda.take();
        CompletableFuture<Void> answered =
                CompletableFuture.runAsync(() -> invoke.answer(200, Map.of(), "{\"reason\":\"SHUTDOWN\"}"));

        launcher.close(Duration.ofSeconds(60));

        answered.get(20, TimeUnit.SECONDS);
        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.ENDED, "SHUTDOWN"));
    }

    @Test
    void should_give_up_invokes_that_outlast_the_grace() throws Exception {
        LaunchedWorker worker = launcher.launch(request("w1"));
        lambda.take();

        launcher.close(Duration.ofMillis(50));

        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.LOST, "terminated by the dispatcher"));
    }

    @Test
    void should_fail_launches_while_it_closes() throws Exception {
        launcher.launch(request("w1"));
        FakeLambda.Invoke invoke = lambda.take();
        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> launcher.close(Duration.ofSeconds(60)));
        // Until it has begun to close, launches reach Lambda.
        while (!isGone(launcher.launch(request("late")))) {
            lambda.take().answer(200, Map.of(), "{}");
        }
        assertThat(exit(launcher.launch(request("last"))))
                .isEqualTo(new WorkerExit(Cause.FAILED, "the launcher is closed"));
        assertThat(closing).isNotDone();
        invoke.answer(200, Map.of(), "{}");
        closing.get(20, TimeUnit.SECONDS);
        assertThat(lambda.untaken()).isZero();
    }

    @Test
    void should_fail_a_launch_and_survive_a_warm_up_after_its_end() throws Exception {
        launcher.close(Duration.ZERO);

        assertThat(exit(launcher.launch(request("w1"))).cause()).isEqualTo(Cause.FAILED);
        launcher.warmUp("api", 2);
        assertThat(lambda.untaken()).isZero();
    }

    @Test
    void should_warm_up_with_invokes_at_once() throws Exception {
        launcher.warmUp("api", 3);

        List<FakeLambda.Invoke> together = List.of(lambda.take(), lambda.take(), lambda.take());

        assertThat(together).allMatch(invoke -> invoke.body().equals("{\"warmUp\":true,\"holdMillis\":500}"));
        together.get(0).answer(200, Map.of(), "{\"warm\":true}");
        together.get(1).answer(200, Map.of("X-Amz-Function-Error", "Unhandled"), "{}");
        together.get(2).error(429, "TooManyRequestsException", "{}");
    }

    @Test
    void should_ask_for_leave_without_starting_anything() throws Exception {
        LoggedLines log = LoggedLines.of(LambdaLauncher.class, Level.WARN);
        CompletableFuture<Void> verified = launcher.verify();
        FakeLambda.Invoke dryRun = lambda.take();

        assertThat(dryRun.header("X-Amz-Invocation-Type")).isEqualTo("DryRun");
        dryRun.answer(
                404, Map.of("X-Amzn-ErrorType", "ResourceNotFoundException"), "{\"Message\":\"no such function\"}");
        verified.get(20, TimeUnit.SECONDS);
        log.close();
        assertThat(log.messages())
                .singleElement()
                .asString()
                .contains(" cannot be invoked: ")
                .contains("no such function");
    }

    @Test
    void should_invoke_nothing_that_was_not_named() {
        assertThatThrownBy(() -> launcher.warmUp("other", 1)).hasMessageContaining("other");
        assertThatThrownBy(() -> launcher.launch(
                        new LaunchRequest("other", "w", "t", List.of(), 1, 1, List.of(), Duration.ZERO, "", 0)))
                .hasMessageContaining("other")
                .hasMessageContaining("[api]");
        assertThat(lambda.untaken()).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hello",
                "hello:live",
                "hello:$LATEST",
                "hello:12",
                "123456789012:function:hello",
                "123456789012:hello:live",
                "arn:aws:lambda:eu-central-1:123456789012:function:hello",
                "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:hello:live"
            })
    void should_take_a_function_name(String name) {
        assertThat(FunctionName.verified(name)).isEqualTo(name);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " hello",
                "hello/../other",
                "hello?Qualifier=1",
                "hello:a:b",
                "arn:aws:s3:::bucket",
                "arn:aws:lambda:eu-central-1:12:function:hello",
                "hello:"
            })
    void should_name_a_function_name_that_is_none(String name) {
        assertThatThrownBy(() -> LambdaLauncher.builder().function("api", name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + name + "'")
                .hasMessageContaining("ARN");
    }

    @Test
    void should_say_how_to_log_in() {
        SdkClientException unknown = SdkClientException.create(
                "Token cache file for login_session `me` not found.\nYou must re-authenticate.");
        assertThat(InvokeOutcome.of(unknown).detail()).endsWith("You must re-authenticate. Log in with: aws login");
    }
}
