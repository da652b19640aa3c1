package io.lambdadispatcher.server;

import io.lambdadispatcher.server.task.Repeated;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells systemd when the service is ready, stops and is alive ({@code sd_notify(3)}). Does nothing
 * if systemd does not ask for it with the environment variable {@code NOTIFY_SOCKET}. Any thread.
 */
final class Systemd implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Systemd.class);

    /** {@code null} = systemd does not ask, or its socket cannot be opened. */
    private final @Nullable Channel socket;

    private Systemd(@Nullable Channel socket) {
        this.socket = socket;
    }

    static Systemd of(Map<String, String> environment) {
        String path = environment.get("NOTIFY_SOCKET");
        if (path == null) {
            return new Systemd(null);
        }
        Throwable cause = Epoll.unavailabilityCause();
        if (cause == null) {
            EventLoopGroup loop = new MultiThreadIoEventLoopGroup(
                    1, new DefaultThreadFactory("systemd", true), EpollIoHandler.newFactory());
            try {
                return new Systemd(open(loop, path));
            } catch (Exception e) {
                loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
                cause = e;
            }
        }
        log.warn("NOTIFY_SOCKET: systemd cannot be told that the service is ready: {}", PrintableText.ofFailure(cause));
        return new Systemd(null);
    }

    private static Channel open(EventLoopGroup loop, String path) throws Exception {
        // An abstract name begins with @ here, and with 0 for the system.
        String name = path.startsWith("@") ? "\0" + path.substring(1) : path;
        return new Bootstrap()
                .group(loop)
                .channel(EpollDomainDatagramChannel.class)
                .handler(new ChannelInboundHandlerAdapter())
                .connect(new DomainSocketAddress(name))
                .sync()
                .channel();
    }

    void ready() {
        send("READY=1");
    }

    void stopping() {
        send("STOPPING=1");
    }

    /**
     * Reports that the service is alive twice in each interval of {@code WatchdogSec}, which
     * systemd sets in {@code WATCHDOG_USEC}.
     *
     * @param alive its stage completes only if the service is alive
     */
    void watch(Map<String, String> environment, Supplier<CompletionStage<?>> alive) {
        String pid = environment.get("WATCHDOG_PID");
        String micros = environment.get("WATCHDOG_USEC");
        if (socket == null
                || micros == null
                || pid != null
                        && !pid.equals(Long.toString(ProcessHandle.current().pid()))) {
            return;
        }
        long half = Long.parseLong(micros) / 2;
        socket.eventLoop()
                .scheduleAtFixedRate(
                        new Repeated("the watchdog", () -> alive.get().thenRun(() -> send("WATCHDOG=1"))),
                        half,
                        half,
                        TimeUnit.MICROSECONDS);
    }

    private void send(String state) {
        if (socket == null) {
            return;
        }
        socket.writeAndFlush(Unpooled.copiedBuffer(state, StandardCharsets.US_ASCII))
                .addListener(written -> {
                    if (!written.isSuccess()) {
                        log.warn("systemd was not told {}: {}", state, PrintableText.ofFailure(written.cause()));
                    }
                });
    }

    /** What was sent before is delivered. */
    @Override
    public void close() {
        if (socket != null) {
            EventLoopGroup loop = socket.eventLoop().parent();
            socket.close().awaitUninterruptibly(2, TimeUnit.SECONDS);
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(2, TimeUnit.SECONDS);
        }
    }
}
