package io.lambdadispatcher.bench.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class DatabaseTest {
    private static final long ROUND_TRIP_MILLIS = 20;
    private static final long SERVICE_MILLIS = 10;

    @TempDir
    private Path directory;

    private Channel listener;
    private Database database;

    @BeforeEach
    void start() throws Exception {
        X509Bundle own = new CertificateBuilder()
                .subject("CN=localhost")
                .setIsCertificateAuthority(true)
                .addSanDnsName("localhost")
                .buildSelfSigned();
        Path certificate = Files.writeString(directory.resolve("certificate.pem"), own.getCertificatePEM());
        Path key = Files.writeString(directory.resolve("key.pem"), own.getPrivateKeyPEM());
        listener = DatabaseMain.start(
                0,
                certificate.toFile(),
                key.toFile(),
                new Wait(SERVICE_MILLIS, 0),
                TimeUnit.MILLISECONDS.toNanos(ROUND_TRIP_MILLIS));
        int port = ((InetSocketAddress) listener.localAddress()).getPort();
        database = new Database(URI.create("https://localhost:" + port), certificate);
    }

    @AfterEach
    void stop() throws InterruptedException {
        listener.close().sync();
    }

    @Test
    void should_take_a_round_trip_for_each_put_on_a_kept_connection() throws Exception {
        millis(1, true);

        assertThat(millis(3, true)).isGreaterThanOrEqualTo(3 * (ROUND_TRIP_MILLIS + SERVICE_MILLIS));
    }

    /** Three round trips: one for TCP, one for TLS, one for the put. */
    @Test
    void should_take_three_round_trips_for_each_put_on_a_new_connection() throws Exception {
        millis(1, false);

        assertThat(millis(3, false)).isGreaterThanOrEqualTo(3 * (3 * ROUND_TRIP_MILLIS + SERVICE_MILLIS));
    }

    @Test
    void should_keep_one_connection_or_make_one_for_each_put() throws Exception {
        AtomicInteger accepted = new AtomicInteger();
        listener.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object connection) {
                accepted.incrementAndGet();
                ctx.fireChannelRead(connection);
            }
        });
        // The handler is added on the event loop, which could accept a connection before.
        listener.eventLoop().submit(() -> {}).sync();
        millis(5, true);
        millis(5, true);
        assertThat(accepted).hasValue(1);
        millis(3, false);
        assertThat(accepted).hasValue(4);
    }

    @Test
    void should_fail_where_there_is_no_database() {
        assertThatThrownBy(() -> Database.none()
                        .put(1, true, Runnable::run)
                        .toCompletableFuture()
                        .get(10, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasMessageContaining("no database");
    }

    private long millis(int puts, boolean keepAlive) throws Exception {
        long startNanos = System.nanoTime();
        database.put(puts, keepAlive, ForkJoinPool.commonPool())
                .toCompletableFuture()
                .get(30, TimeUnit.SECONDS);
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    }
}
