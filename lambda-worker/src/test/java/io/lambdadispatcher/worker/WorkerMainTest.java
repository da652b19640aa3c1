package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs the worker in a separate process, as in production. */
@EachRelease
@Timeout(180)
class WorkerMainTest {
    /** Has a constructor that fails. */
    public static class Unwell implements Handler {
        public Unwell() {
            throw new IllegalStateException("no database,\n  in two lines");
        }

        @Override
        public void handle(Request request, Response response) {}
    }

    /** Throws instead of starting. */
    public static class Unready implements Handler, Lifecycle {
        @Override
        public void handle(Request request, Response response) {}

        @Override
        public void stop() {}

        @Override
        public CompletionStage<Void> start() {
            throw new IllegalStateException("no cache");
        }
    }

    private static ProcessBuilder builder() {
        return new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                WorkerMain.class.getName());
    }

    private static Process start(ScriptedDispatcher dispatcher) throws Exception {
        ProcessBuilder builder = builder()
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment()
                .put(
                        "LAMBDA_DISPATCHER_ADDRESSES",
                        "127.0.0.1:" + dispatcher.address().getPort());
        builder.environment().put("LAMBDA_DISPATCHER_FUNCTION", "f");
        builder.environment().put("LAMBDA_DISPATCHER_SECRET", "0123456789abcdef");
        builder.environment().put("LAMBDA_DISPATCHER_TLS", "false");
        builder.environment().put("LAMBDA_DISPATCHER_CONNECTIONS", "1");
        builder.environment().put("LAMBDA_DISPATCHER_HANDLER", PongHandler.class.getName());
        builder.environment().put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "stdin");
        return builder.start();
    }

    @Test
    void should_drain_on_SIGTERM_and_exit_with_0() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            Process worker = start(dispatcher);
            try {
                ScriptedStream stream = dispatcher.takeReady().takeStream();
                assertThat(stream.exchange(get("/ping")).text()).isEqualTo("pong");
                stream.request(get("/delay/1000"), 0, true);
                // A request that arrives after the worker has announced its drain is refused.
                stream.link().roundTrip();
                worker.destroy();
                assertThat(stream.gather().text()).isEqualTo("pong");
                assertThat(stream.link().takeMessage(Drain.class).reason()).isEqualTo(DrainCode.REQUESTED);
                assertThat(worker.waitFor(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
                assertThat(worker.exitValue()).isZero();
            } finally {
                worker.destroyForcibly();
            }
        }
    }

    @Test
    void should_say_last_what_cannot_be_used_and_exit_with_2() throws Exception {
        ProcessBuilder builder = builder().redirectErrorStream(true);
        builder.environment().put("LAMBDA_DISPATCHER_HANDLER", Unwell.class.getName());
        Process worker = builder.start();
        try {
            List<String> lines = worker.inputReader().lines().toList();
            assertThat(worker.waitFor()).isEqualTo(2);
            assertThat(lines.get(lines.size() - 1))
                    .endsWith("LAMBDA_DISPATCHER_HANDLER=" + Unwell.class.getName() + ": the constructor of "
                            + Unwell.class.getName()
                            + " failed: java.lang.IllegalStateException: no database, in two lines");
        } finally {
            worker.destroyForcibly();
        }
    }

    @Test
    void should_name_the_variables_that_choose_what_to_serve_and_exit_with_2_when_none_is_set() throws Exception {
        ProcessBuilder builder = builder().redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.startsWith("LAMBDA_DISPATCHER_"));
        // On Lambda this chooses a web application.
        builder.environment().put("PORT", "8080");
        Process worker = builder.start();
        try {
            List<String> lines = worker.inputReader().lines().toList();
            assertThat(worker.waitFor()).isEqualTo(2);
            assertThat(lines)
                    .singleElement()
                    .asString()
                    .endsWith("nothing to serve: set LAMBDA_DISPATCHER_HANDLER (the class of a handler),"
                            + " LAMBDA_DISPATCHER_RUNTIME (the command that starts a Lambda runtime) or"
                            + " LAMBDA_DISPATCHER_WEB_PORT (the port of a web application)");
        } finally {
            worker.destroyForcibly();
        }
    }

    @Test
    void should_say_last_why_it_cannot_serve_and_exit_with_1() throws Exception {
        ProcessBuilder builder = builder().redirectErrorStream(true);
        builder.environment().put("LAMBDA_DISPATCHER_ADDRESSES", "127.0.0.1:1");
        builder.environment().put("LAMBDA_DISPATCHER_FUNCTION", "f");
        builder.environment().put("LAMBDA_DISPATCHER_SECRET", "0123456789abcdef");
        builder.environment().put("LAMBDA_DISPATCHER_RUNTIME", "exit 9");
        Process worker = builder.start();
        try {
            List<String> lines = worker.inputReader().lines().toList();
            assertThat(worker.waitFor()).isEqualTo(1);
            assertThat(lines.get(lines.size() - 1)).contains("the handler cannot start: ", "exit code 9");
        } finally {
            worker.destroyForcibly();
        }
    }

    @Test
    void should_exit_with_1_when_the_handler_throws_instead_of_starting() throws Exception {
        ProcessBuilder builder = builder()
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().put("LAMBDA_DISPATCHER_ADDRESSES", "127.0.0.1:1");
        builder.environment().put("LAMBDA_DISPATCHER_FUNCTION", "f");
        builder.environment().put("LAMBDA_DISPATCHER_SECRET", "0123456789abcdef");
        builder.environment().put("LAMBDA_DISPATCHER_HANDLER", Unready.class.getName());
        Process worker = builder.start();
        try {
            assertThat(worker.waitFor(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(worker.exitValue()).isEqualTo(1);
        } finally {
            worker.destroyForcibly();
        }
    }

    @Test
    void should_end_with_its_standard_input() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            Process worker = start(dispatcher);
            try {
                dispatcher.takeReady();
                worker.getOutputStream().close();
                assertThat(worker.waitFor(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
                assertThat(worker.exitValue()).isZero();
            } finally {
                worker.destroyForcibly();
            }
        }
    }
}
