package io.lambdadispatcher.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.UnixOperatingSystemMXBean;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.BlockingOperationException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A start that fails at any step leaves nothing open. */
@EachRelease
class FailedStartTest {
    private static final int STARTS = 30;

    private static final ListenerOptions ANY_PORT = ListenerOptions.plain("127.0.0.1", 0);
    private static final Path NOWHERE = Path.of("no-such-file.pem");

    private final RecordingLauncher launcher = new RecordingLauncher(worker -> {
        throw new AssertionError("launched before it serves");
    });

    private static final class FaultyRouter implements RequestRouter {
        @Override
        public RouteTarget route(Http2Headers head) {
            return RouteTarget.of("f");
        }

        @Override
        public Set<String> requestHeaders() {
            throw new IllegalStateException("no headers");
        }
    }

    /** What fails, in the order of the steps. */
    private enum Step {
        ROUTER(builder -> builder.router(new FaultyRouter())),
        WORKER_CERTIFICATE(builder ->
                builder.workerListener(ListenerOptions.tls("127.0.0.1", 0, TlsOptions.of(NOWHERE, NOWHERE)))),
        WORKER_PORT(builder -> builder.workerListener(ListenerOptions.plain("127.0.0.1", taken.getLocalPort()))),
        CERTIFICATE(builder -> builder.publicListener(ANY_PORT)
                .publicListener(ListenerOptions.tls("127.0.0.1", 0, TlsOptions.of(NOWHERE, NOWHERE)))),
        PORT(builder -> builder.publicListener(ANY_PORT)
                .publicListener(ListenerOptions.plain("127.0.0.1", taken.getLocalPort())));

        private final Consumer<DispatcherBuilder> fault;

        Step(Consumer<DispatcherBuilder> fault) {
            this.fault = fault;
        }
    }

    private static final ServerSocket taken = takePort();

    private static ServerSocket takePort() {
        try {
            return new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @EnumSource
    void should_leave_nothing_open(Step step) {
        failToStart(step); // loads classes, and opens what the JVM keeps
        Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
        long descriptors = openDescriptors();
        for (int i = 0; i < STARTS; i++) {
            failToStart(step);
        }
        Await.until(
                "no new thread is left",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> !threads.contains(thread))
                        .noneMatch(thread -> thread.getName().startsWith("dispatcher")));
        Await.until("descriptors are closed", () -> openDescriptors() < descriptors + STARTS);
        assertThat(launcher.closes).as("the launcher stays with the caller").hasValue(0);
    }

    /** A port opens on an event loop. One that waits for itself cannot open any. */
    @Test
    void should_open_no_port_if_it_starts_on_its_own_event_loop() throws Exception {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try {
            int free = FreePort.next();
            DispatcherBuilder builder = builder()
                    .workerListener(ListenerOptions.plain("127.0.0.1", free))
                    .eventLoopGroup(group);

            group.submit(() -> assertThatThrownBy(builder::start).isInstanceOf(BlockingOperationException.class))
                    .get(10, TimeUnit.SECONDS);

            // Everything that the start has left to the event loop runs before this.
            group.submit(() -> {}).get(10, TimeUnit.SECONDS);
            assertThatCode(() -> new ServerSocket(free, 1, InetAddress.getByName("127.0.0.1")).close())
                    .doesNotThrowAnyException();
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private DispatcherBuilder builder() {
        return Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.fixed(1))
                        .build())
                .workerListener(ANY_PORT)
                .launcher(launcher)
                .eventLoops(2);
    }

    private void failToStart(Step step) {
        DispatcherBuilder builder = builder();
        step.fault.accept(builder);
        assertThatThrownBy(builder::start).isInstanceOf(RuntimeException.class);
    }

    private static long openDescriptors() {
        return ((UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getOpenFileDescriptorCount();
    }
}
