package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.ControlMessage.Drain;
import io.lambdadispatcher.wire.ControlMessage.DrainReason;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** In a process of its own, as it is meant to run. */
@Timeout(180)
class WorkerMainTest {
    private static Process start(ScriptedDispatcher dispatcher) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        WorkerMain.class.getName())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment()
                .put(
                        "LAMBDA_DISPATCHER_ADDRESSES",
                        "127.0.0.1:" + dispatcher.address().getPort());
        builder.environment().put("LAMBDA_DISPATCHER_FUNCTION", "f");
        builder.environment().put("LAMBDA_DISPATCHER_SECRET", "0123456789abcdef");
        builder.environment().put("LAMBDA_DISPATCHER_CONNECTIONS", "1");
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
                stream.request(get("/delay?delay=1000"), 0, true);
                // A request that comes when the worker has said that it drains is refused.
                stream.link().roundTrip();
                worker.destroy();
                assertThat(stream.gather().text()).contains("1000");
                assertThat(stream.link().takeMessage(Drain.class).reason()).isEqualTo(DrainReason.REQUESTED);
                assertThat(worker.waitFor(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                        .isTrue();
                assertThat(worker.exitValue()).isZero();
            } finally {
                worker.destroyForcibly();
            }
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
