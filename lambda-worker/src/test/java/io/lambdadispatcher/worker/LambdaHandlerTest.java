package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.ControlMessage.Drain;
import io.lambdadispatcher.wire.ControlMessage.DrainReason;
import io.lambdadispatcher.worker.demo.DemoHandler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LambdaHandlerTest {
    /** As a user's subclass would be. */
    private static final class Demo extends LambdaHandler {
        Demo() {
            super(new DemoHandler());
        }
    }

    private static Context remaining(int millis) {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(), new Class<?>[] {Context.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("getRemainingTimeInMillis")) {
                        return millis;
                    }
                    throw new UnsupportedOperationException(method.getName());
                });
    }

    private static InputStream payload(ScriptedDispatcher dispatcher) {
        String json = "{\"function\":\"f\",\"workerId\":\"w1\",\"token\":\"v1.a.b.c.d\",\"addresses\":[\"127.0.0.1:"
                + dispatcher.address().getPort() + "\"],\"connections\":1,\"streams\":1}";
        return new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void should_serve_until_drained_and_return_a_summary() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            CompletableFuture<Void> invoke = CompletableFuture.runAsync(() -> {
                try {
                    new Demo().handleRequest(payload(dispatcher), output, remaining(60_000));
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            ScriptedStream stream = dispatcher.takeReady().takeStream();
            assertThat(stream.exchange(get("/ping")).text()).isEqualTo("pong");
            stream.link().send(new Drain(DrainReason.SCALE_IN, 1_000));
            invoke.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(output.toString(StandardCharsets.UTF_8))
                    .contains("\"requests\":1", "\"failures\":0", "\"reason\":\"SCALE_IN\"", "\"workerId\":\"w1\"");
        }
    }

    @Test
    void should_fail_the_invoke_when_not_let_in() {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            dispatcher.controlStatus = 403;
            assertThatThrownBy(() -> new Demo()
                            .handleRequest(payload(dispatcher), new ByteArrayOutputStream(), remaining(60_000)))
                    .hasMessageContaining("403");
        }
    }

    private static String answer(Demo handler, String event) throws Exception {
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

            assertThat(answer(new Demo(), "{\"warmUp\":true,\"holdMillis\":1," + address + "}"))
                    .isEqualTo("{\"warm\":true}");
            assertThat(dispatcher.links()).isEmpty();
        }
    }

    @Test
    void should_hold_a_warm_up_so_that_others_land_elsewhere() throws Exception {
        long startNanos = System.nanoTime();

        answer(new Demo(), "{\"holdMillis\":200,\"later\":{\"holdMillis\":0,\"warmUp\":false},\"warmUp\":true}");

        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(200));
    }

    @Test
    void should_bound_the_hold_of_a_warm_up() {
        assertThat(WarmUp.read(event("{\"warmUp\":true,\"holdMillis\":99999999999}")))
                .isEqualTo(new WarmUp(10_000));
        assertThat(WarmUp.read(event("{\"warmUp\":true,\"holdMillis\":-5}"))).isEqualTo(new WarmUp(0));
        assertThat(WarmUp.read(event("{\"warmUp\":false}"))).isNull();
        assertThat(WarmUp.read(event("{\"nested\":{\"warmUp\":true}}"))).isNull();
        assertThat(WarmUp.read(event("[true]"))).isNull();
        assertThat(WarmUp.read(event("{\"warmUp\":true"))).isNull();
    }

    private static byte[] event(String json) {
        return json.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void should_name_the_variable_that_names_no_handler() {
        assertThatThrownBy(() -> HandlerLoader.load("no.such.Class"))
                .hasMessageContaining("LAMBDA_DISPATCHER_HANDLER")
                .hasMessageContaining("no.such.Class");
        assertThatThrownBy(() -> HandlerLoader.load(String.class.getName())).hasMessageContaining("java.lang.String");
        assertThat(HandlerLoader.load(DemoHandler.class.getName())).isInstanceOf(DemoHandler.class);
    }
}
