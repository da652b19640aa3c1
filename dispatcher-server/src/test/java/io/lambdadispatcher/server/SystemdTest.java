package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.unix.DomainDatagramPacket;
import io.netty.channel.unix.DomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@EachRelease
@Timeout(30)
class SystemdTest {
    private final BlockingQueue<String> received = new LinkedBlockingQueue<>();
    private EventLoopGroup loop;

    @TempDir
    private Path directory;

    @BeforeEach
    void listen() throws Exception {
        Assumptions.assumeTrue(Epoll.isAvailable(), "systemd is told with epoll only");
        loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        new Bootstrap()
                .group(loop)
                .channel(EpollDomainDatagramChannel.class)
                .handler(new SimpleChannelInboundHandler<DomainDatagramPacket>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext context, DomainDatagramPacket packet) {
                        received.add(packet.content().toString(StandardCharsets.US_ASCII));
                    }
                })
                .bind(new DomainSocketAddress(path()))
                .sync();
    }

    @AfterEach
    void stop() throws Exception {
        if (loop != null) {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    private String path() {
        return directory.resolve("notify").toString();
    }

    private String next() throws InterruptedException {
        return received.poll(10, TimeUnit.SECONDS);
    }

    @Test
    void should_tell_that_it_is_ready_and_that_it_stops() throws Exception {
        try (Systemd systemd = Systemd.of(Map.of("NOTIFY_SOCKET", path()))) {
            systemd.ready();
            assertThat(next()).isEqualTo("READY=1");
            systemd.stopping();
        }
        assertThat(next()).isEqualTo("STOPPING=1");
    }

    @Test
    void should_report_only_while_it_is_alive() throws Exception {
        Map<String, String> environment = Map.of(
                "NOTIFY_SOCKET", path(),
                "WATCHDOG_USEC", "100000",
                "WATCHDOG_PID", Long.toString(ProcessHandle.current().pid()));
        CompletionStage<?>[] alive = {CompletableFuture.completedStage(null)};
        try (Systemd systemd = Systemd.of(environment)) {
            systemd.watch(environment, () -> alive[0]);
            assertThat(next()).isEqualTo("WATCHDOG=1");
            assertThat(next()).isEqualTo("WATCHDOG=1");
            alive[0] = new CompletableFuture<>();
            received.clear();
            received.poll(100, TimeUnit.MILLISECONDS); // A report may have been in flight.
            assertThat(received.poll(300, TimeUnit.MILLISECONDS)).isNull();
        }
    }

    @Test
    void should_leave_the_watchdog_of_another_process_alone() throws Exception {
        Map<String, String> environment =
                Map.of("NOTIFY_SOCKET", path(), "WATCHDOG_USEC", "100000", "WATCHDOG_PID", "1");
        try (Systemd systemd = Systemd.of(environment)) {
            systemd.watch(environment, () -> CompletableFuture.completedStage(null));
            assertThat(received.poll(300, TimeUnit.MILLISECONDS)).isNull();
        }
    }

    @Test
    void should_do_nothing_without_systemd() throws Exception {
        for (Map<String, String> environment : List.of(
                Map.of("WATCHDOG_USEC", "1000"),
                Map.of("WATCHDOG_USEC", "1000", "NOTIFY_SOCKET", path() + "-missing"))) {
            try (Systemd systemd = Systemd.of(environment)) {
                systemd.ready();
                systemd.watch(environment, () -> CompletableFuture.completedStage(null));
            }
        }
        assertThat(received.poll(100, TimeUnit.MILLISECONDS)).isNull();
    }
}
