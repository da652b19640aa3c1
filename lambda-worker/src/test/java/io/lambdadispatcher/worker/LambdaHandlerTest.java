package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@EachRelease
@Timeout(180)
class LambdaHandlerTest {
    /** Stands for a user's subclass. */
    private static final class Ponging extends LambdaHandler {
        Ponging() {
            super(new PongHandler());
        }
    }

    static Context remaining(int millis) {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(), new Class<?>[] {Context.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("getRemainingTimeInMillis")) {
                        return millis;
                    }
                    throw new UnsupportedOperationException(method.getName());
                });
    }

    private static InputStream payload(ScriptedDispatcher dispatcher) {
        String json =
                "{\"function\":\"f\",\"workerId\":\"w1\",\"token\":\"v1.a.b.c.d\",\"tls\":false,\"addresses\":[\"127.0.0.1:"
                        + dispatcher.address().getPort() + "\"],\"connections\":1,\"streams\":1}";
        return new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void should_serve_until_drained_and_return_a_summary() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            CompletableFuture<Void> invoke = CompletableFuture.runAsync(() -> {
                try {
                    new Ponging().handleRequest(payload(dispatcher), output, remaining(60_000));
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            ScriptedStream stream = dispatcher.takeReady().takeStream();
            assertThat(stream.exchange(get("/ping")).text()).isEqualTo("pong");
            stream.link().send(new Drain(DrainCode.SCALE_IN, 1_000));
            invoke.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(output.toString(StandardCharsets.UTF_8))
                    .contains("\"requests\":1", "\"failures\":0", "\"reason\":\"scale in\"", "\"workerId\":\"w1\"");
        }
    }

    /** Otherwise, the worker would end later than Lambda permits. */
    @Test
    void should_count_the_time_in_which_it_reads_the_zone() throws Exception {
        String payload =
                "{\"function\":\"f\",\"workerId\":\"w1\",\"token\":\"t\",\"tls\":false,\"addresses\":[\"127.0.0.1:1\"]";
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Map<String, String> variables = Map.of("AWS_LAMBDA_METADATA_API", "127.0.0.1:" + silent.getLocalPort());
            for (String end : List.of("}", ",\"deadlineMillis\":60000}")) {
                long startNanos = System.nanoTime();
                WorkerConfig config = LambdaHandler.launched(
                        (payload + end).getBytes(StandardCharsets.UTF_8),
                        startNanos,
                        remainingOf(startNanos),
                        variables);
                assertThat(config.deadline()).isLessThan(Duration.ofMillis(59_900));
            }
        }
    }

    /** Returns an invoke that had 60 s left at that time. */
    private static Context remainingOf(long startNanos) {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(),
                new Class<?>[] {Context.class},
                (proxy, method, arguments) ->
                        60_000 - (int) TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos));
    }

    @Test
    void should_fail_the_invoke_when_not_let_in() {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            dispatcher.controlStatus = 403;
            assertThatThrownBy(() -> new Ponging()
                            .handleRequest(payload(dispatcher), new ByteArrayOutputStream(), remaining(60_000)))
                    .hasMessageContaining("403");
        }
    }

    /**
     * The cause is, for example, a closed security group or a wrong address. Lambda counts the
     * invocation as an error of the function.
     */
    @Test
    void should_fail_the_invoke_when_nobody_was_reached() {
        InputStream nowhere;
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            nowhere = payload(dispatcher);
        }
        assertThatThrownBy(() -> new Ponging().handleRequest(nowhere, new ByteArrayOutputStream(), remaining(1_500)))
                .hasMessageContaining("worker w1 could not reach a dispatcher: deadline");
    }

    private static String answer(Ponging handler, String event) throws Exception {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        handler.handleRequest(
                new ByteArrayInputStream(event.getBytes(StandardCharsets.UTF_8)), output, remaining(60_000));
        return output.toString(StandardCharsets.UTF_8);
    }

    @Test
    void should_answer_a_warm_up_without_dialling() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            String address =
                    "\"addresses\":[\"127.0.0.1:" + dispatcher.address().getPort() + "\"]";

            assertThat(answer(new Ponging(), "{\"warmUp\":true,\"holdMillis\":1," + address + "}"))
                    .isEqualTo("{\"warm\":true}");
            assertThat(dispatcher.links()).isEmpty();
        }
    }

    /** A snapshot must not contain threads of a worker. */
    @Test
    void should_rehearse_a_launch_and_leave_no_thread() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();

        assertThat(Rehearsal.run()).isTrue();

        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (!before.contains(thread) && thread.getName().startsWith("lambda-worker")) {
                thread.join(TimeUnit.SECONDS.toMillis(5));
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
        }
    }

    @Test
    void should_hold_a_warm_up_so_that_others_land_elsewhere() throws Exception {
        long startNanos = System.nanoTime();

        answer(new Ponging(), "{\"holdMillis\":200,\"later\":{\"holdMillis\":0,\"warmUp\":false},\"warmUp\":true}");

        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(200));
    }

    @Test
    void should_bound_the_hold_of_a_warm_up() {
        assertThat(WarmUp.of(members("{\"warmUp\":true,\"holdMillis\":99999999999}")))
                .isEqualTo(new WarmUp(10_000));
        assertThat(WarmUp.of(members("{\"warmUp\":true,\"holdMillis\":-5}"))).isEqualTo(new WarmUp(0));
        assertThat(WarmUp.of(members("{\"warmUp\":false}"))).isNull();
        assertThat(WarmUp.of(members("{\"nested\":{\"warmUp\":true}}"))).isNull();
        assertThat(WarmUp.of(members("[true]"))).isNull();
        assertThat(WarmUp.of(members("{\"warmUp\":true"))).isNull();
    }

    @Test
    void should_not_hold_a_warm_up_beyond_the_invoke() throws Exception {
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        long startNanos = System.nanoTime();

        new Ponging()
                .handleRequest(
                        new ByteArrayInputStream(event("{\"warmUp\":true,\"holdMillis\":10000}")),
                        output,
                        remaining(201));

        assertThat(output.toString(StandardCharsets.UTF_8)).isEqualTo("{\"warm\":true}");
        assertThat(System.nanoTime() - startNanos).isLessThan(TimeUnit.SECONDS.toNanos(9));
    }

    private static byte[] event(String json) {
        return json.getBytes(StandardCharsets.UTF_8);
    }

    /** Stands for a user's function for a queue, or for requests. */
    public static class Upper implements RequestHandler<Map<String, Object>, Map<String, Object>> {
        @Override
        public Map<String, Object> handleRequest(Map<String, Object> event, Context context) {
            return event.containsKey("Records")
                    ? Map.of("records", event.get("Records"), "millis", context.getRemainingTimeInMillis())
                    : Map.of("arn", context.getInvokedFunctionArn());
        }
    }

    private static final class Functions extends LambdaHandler {
        Functions() {
            super(HandlerLoader.load(Upper.class.getName(), Map.of()));
        }
    }

    private static Context invoke() {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(),
                new Class<?>[] {Context.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getRemainingTimeInMillis" -> 60_000;
                    case "getMemoryLimitInMB" -> 128;
                    case "getInvokedFunctionArn" -> "arn:of:the:invoke";
                    default -> null;
                });
    }

    @Test
    void should_pass_ordinary_invokes_to_the_function() throws Exception {
        ByteArrayOutputStream output = new ByteArrayOutputStream();

        new Functions().handleRequest(new ByteArrayInputStream(event("{\"Records\":[1]}")), output, remaining(777));

        assertThat(output.toString(StandardCharsets.UTF_8)).contains("\"records\":[1]", "\"millis\":777");
    }

    @Test
    void should_serve_requests_with_the_function_once_launched() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            CompletableFuture<Void> serving = CompletableFuture.runAsync(() -> {
                try {
                    new Functions().handleRequest(payload(dispatcher), new ByteArrayOutputStream(), invoke());
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            ScriptedStream stream = dispatcher.takeReady().takeStream();
            assertThat(stream.exchange(get("/")).text()).isEqualTo("{\"arn\":\"arn:of:the:invoke\"}");
            stream.link().send(new Drain(DrainCode.SCALE_IN, 1_000));
            serving.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static Map<String, ?> members(String event) {
        return Json.readTopLevel(event.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void should_know_a_launch_from_other_events() {
        assertThat(LambdaHandler.isLaunch(members("{\"workerId\":\"w\",\"x\":{\"a\":[1]},\"addresses\":[]}")))
                .isTrue();
        for (String other : new String[] {
            "{\"workerId\":\"w\"}",
            "{\"x\":{\"workerId\":1,\"addresses\":1}}",
            "[]",
            "\"workerId\"",
            "",
            "{\"workerId\":1,"
        }) {
            assertThat(LambdaHandler.isLaunch(members(other))).as(other).isFalse();
        }
    }
}
