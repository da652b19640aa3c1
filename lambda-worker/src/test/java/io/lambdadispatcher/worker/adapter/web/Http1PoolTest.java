package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class Http1PoolTest {
    /** Clocks that move when the test says so. */
    private static final class FakeClocks implements FreezeClocks {
        final AtomicLong nanos = new AtomicLong(-5);
        final AtomicLong wallMillis = new AtomicLong(1_000_000);

        @Override
        public long nanos() {
            return nanos.get();
        }

        @Override
        public long wallMillis() {
            return wallMillis.get();
        }
    }

    private static RawApp answering(String fields) throws Exception {
        return new RawApp(connection -> {
            while (!connection.readHead().isEmpty()) {
                connection.write("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\nok");
            }
        });
    }

    @Test
    void should_drop_connections_that_slept_through_a_freeze_by_either_clock() throws Exception {
        FakeClocks clocks = new FakeClocks();
        try (RawApp app = answering("");
                Harness harness = new Harness(new WebHandler(app.config(), clocks)::handle)) {
            ScriptedStream stream = harness.stream();
            stream.exchange(get("/"));
            clocks.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(3_999));
            clocks.wallMillis.addAndGet(3_999);
            stream.exchange(get("/"));
            assertThat(app.connections()).isEqualTo(1);
            clocks.nanos.addAndGet(TimeUnit.SECONDS.toNanos(4));
            stream.exchange(get("/"));
            assertThat(app.connections()).isEqualTo(2);
            clocks.wallMillis.addAndGet(4_000);
            stream.exchange(get("/"));
            assertThat(app.connections()).isEqualTo(3);
        }
    }

    @Test
    void should_not_take_a_connection_for_younger_when_nothing_was_sent_on_it() throws Exception {
        FakeClocks clocks = new FakeClocks();
        try (RawApp app = answering("");
                Harness harness = new Harness(new WebHandler(app.config(), clocks)::handle)) {
            ScriptedStream stream = harness.stream();
            stream.exchange(get("/"));
            clocks.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(3_900));
            assertThat(stream.exchange(get("/").add("content-length", "5")).status())
                    .isEqualTo("400");
            stream.exchange(get("/"));
            assertThat(app.connections()).as("it has been given back").isEqualTo(1);
            clocks.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(3_900));
            assertThat(stream.exchange(get("/").add("content-length", "5")).status())
                    .isEqualTo("400");
            clocks.nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(5));
            stream.exchange(post("/"));
            assertThat(app.connections()).as("it has been idle for 3905 ms").isEqualTo(2);
        }
    }

    @Test
    void should_go_by_how_long_the_app_says_it_keeps_connections() throws Exception {
        FakeClocks clocks = new FakeClocks();
        try (RawApp app = answering("Keep-Alive: max=100, timeout=2\r\n");
                Harness harness = new Harness(new WebHandler(app.config(), clocks)::handle)) {
            ScriptedStream stream = harness.stream();
            stream.exchange(get("/"));
            clocks.wallMillis.addAndGet(1_499);
            stream.exchange(get("/"));
            assertThat(app.connections()).isEqualTo(1);
            clocks.wallMillis.addAndGet(1_500);
            stream.exchange(get("/"));
            assertThat(app.connections()).isEqualTo(2);
        }
    }

    @Test
    void should_be_careful_with_what_cannot_be_repeated() {
        IdleRule rule = new IdleRule(4_000_000_000L);
        assertThat(rule.isYoung(3_999_999_999L)).isTrue();
        assertThat(rule.isYoung(4_000_000_000L)).isFalse();
        assertThat(rule.isSafe(9_999_999, 0)).isTrue();
        assertThat(rule.isSafe(10_000_000, 0)).isFalse();
        assertThat(rule.isSafe(2_499_999_999L, 5_000_000_000L)).isTrue();
        assertThat(rule.isSafe(2_500_000_000L, 5_000_000_000L)).isFalse();
        rule.onServed(100_000_000);
        assertThat(rule.isSafe(49_999_999, 0)).isTrue();
        rule.onClosedIdle(60_000_000);
        assertThat(rule.isSafe(29_999_999, 0)).isTrue();
        assertThat(rule.isSafe(30_000_000, 5_000_000_000L)).isFalse();
        rule.onClosedIdle(10);
        assertThat(rule.isSafe(1_999_999, 0)).isTrue();
        assertThat(rule.isYoung(3_999_999_999L)).isTrue();
    }

    @Test
    void should_forget_a_close_when_the_app_keeps_others_for_longer() {
        IdleRule rule = new IdleRule(4_000_000_000L);
        rule.onServed(100_000_000);
        rule.onClosedIdle(10);
        assertThat(rule.isSafe(2_000_000, 0)).isFalse();
        rule.onServed(30_000_000);
        assertThat(rule.isSafe(14_999_999, 0)).isTrue();
        assertThat(rule.isSafe(15_000_000, 0)).isFalse();
        rule.onKept(Long.MAX_VALUE);
        assertThat(rule.isSafe(49_999_999, 0)).isTrue();
        assertThat(rule.isSafe(1_999_999_999, 5_000_000_000L)).isTrue();
        assertThat(rule.isSafe(2_000_000_000, 5_000_000_000L)).isFalse();
    }

    /**
     * A restart closes all connections, however short their idle time. That says nothing about
     * connections to the new process.
     */
    @Test
    void should_use_connections_again_after_a_restart_of_the_app() throws Exception {
        FakeClocks clocks = new FakeClocks();
        long fiveMillis = TimeUnit.MILLISECONDS.toNanos(5);
        try (RawApp app = new RawApp(connection -> {
                    while (!connection.readHead().isEmpty()) {
                        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                        if (connection.index == 0) {
                            return;
                        }
                    }
                });
                Harness harness = new Harness(new WebHandler(app.config(), clocks)::handle)) {
            ScriptedStream stream = harness.stream();
            stream.exchange(post("/"));
            app.takeEnded();
            app.awaitClosed();
            stream.exchange(post("/"));
            clocks.nanos.addAndGet(fiveMillis);
            stream.exchange(post("/"));
            assertThat(app.connections())
                    .as("one that seems to be closed after 4 ms is not trusted")
                    .isEqualTo(3);
            clocks.nanos.addAndGet(TimeUnit.SECONDS.toNanos(4));
            stream.exchange(post("/"));
            clocks.nanos.addAndGet(fiveMillis);
            stream.exchange(post("/"));
            assertThat(app.connections()).as("others were kept for 4 s").isEqualTo(4);
        }
    }

    /**
     * The application has closed the connection, and the event loop does not know yet, because it
     * is busy with the next request.
     */
    @Test
    void should_ask_the_kernel_before_it_uses_a_connection_again() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                });
                Harness harness = new Harness(new Handler() {
                    private final WebHandler relay = new WebHandler(app.config());

                    @Override
                    public void handle(Request request, Response response) throws Exception {
                        if (app.connections() > 0) {
                            app.takeEnded();
                            app.awaitClosed();
                        }
                        relay.handle(request, response);
                    }
                })) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 5; i++) {
                assertThat(stream.exchange(post("/")).text()).isEqualTo("ok");
            }
            assertThat(app.connections()).isEqualTo(5);
        }
    }

    /**
     * The application has sent bytes behind its response, and the event loop does not know yet,
     * because it is busy with the next request. They would be taken for its response.
     */
    @Test
    void should_not_use_a_connection_on_which_bytes_have_arrived() throws Exception {
        Semaphore mayWrite = new Semaphore(0);
        Semaphore written = new Semaphore(0);
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    mayWrite.acquire();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother");
                    written.release();
                    connection.awaitEnd();
                });
                Harness harness = new Harness(new Handler() {
                    private final WebHandler relay = new WebHandler(app.config());

                    @Override
                    public void handle(Request request, Response response) throws Exception {
                        if (app.connections() > 0) {
                            mayWrite.release();
                            written.acquire();
                        }
                        relay.handle(request, response);
                    }
                })) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 5; i++) {
                assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
            }
            assertThat(app.connections()).isEqualTo(5);
        }
    }

    /**
     * Measures the longest time for which the worker's event loops did not run, although each
     * should run every millisecond. After such a pause, they cannot tell which connections were
     * idle for how long. The event loops are measured themselves, because on few processors a
     * thread that mostly sleeps may run when they do not.
     */
    private static final class Stillness {
        private final Set<ScheduledExecutorService> watched = ConcurrentHashMap.newKeySet();
        private final AtomicLong longestNanos = new AtomicLong();

        /** Runs on the event loop. Further calls have no effect. */
        void watch(ScheduledExecutorService loop) {
            if (watched.add(loop)) {
                AtomicLong before = new AtomicLong(System.nanoTime());
                loop.scheduleWithFixedDelay(
                        () -> {
                            long now = System.nanoTime();
                            longestNanos.accumulateAndGet(now - before.getAndSet(now), Math::max);
                        },
                        1,
                        1,
                        TimeUnit.MILLISECONDS);
            }
        }

        long longestMillis() {
            return TimeUnit.NANOSECONDS.toMillis(longestNanos.get());
        }
    }

    /** Pauses are chosen so that many requests arrive just when the application closes. */
    @Test
    void should_lose_no_request_to_an_app_that_closes_idle_connections_after_50_ms() throws Exception {
        int attempts = 5;
        long stillMillis = 0;
        for (int i = 0; i < attempts; i++) {
            long seed = System.nanoTime();
            Stillness stillness = new Stillness();
            List<String> failures = failuresUnderLoad(seed, stillness);
            stillMillis = stillness.longestMillis();
            if (failures.isEmpty()) {
                return;
            }
            assertThat(stillMillis)
                    .as("this machine moved, and with seed %s requests were lost: %s", seed, failures)
                    .isGreaterThan(15);
        }
        Assumptions.abort("this machine stands still for up to " + stillMillis + " ms, as long as the pauses here");
    }

    private static List<String> failuresUnderLoad(long seed, Stillness stillness) throws Exception {
        List<String> failures = Collections.synchronizedList(new ArrayList<>());
        try (RawApp app = new RawApp(Http1PoolTest::serveFor50Millis);
                Harness harness = new Harness(
                        watched(app, stillness), c -> c.connections(2).streams(8))) {
            List<Thread> clients = new ArrayList<>();
            for (int link = 0; link < 2; link++) {
                ScriptedDispatcher.Link ready = harness.dispatcher.takeReady();
                for (int i = 0; i < 8; i++) {
                    ScriptedStream stream = ready.takeStream();
                    Random random = new Random(seed + clients.size());
                    clients.add(new Thread(() -> request(stream, random, failures)));
                }
            }
            clients.forEach(Thread::start);
            for (Thread client : clients) {
                client.join();
            }
        }
        return failures;
    }

    private static Handler watched(RawApp app, Stillness stillness) {
        WebHandler relay = new WebHandler(app.config());
        return (request, response) -> {
            stillness.watch(request.eventLoop());
            relay.handle(request, response);
        };
    }

    private static void request(ScriptedStream stream, Random random, List<String> failures) {
        try {
            for (int n = 0; n < 40; n++) {
                pause(random);
                Gathered answer = n % 2 == 0 ? stream.exchange(get("/")) : posted(stream);
                if (!answer.status().equals("200")) {
                    failures.add(n + ": " + answer.status() + " " + answer.text());
                }
            }
        } catch (InterruptedException | AssertionError e) {
            failures.add(e.toString());
        }
    }

    private static void serveFor50Millis(RawApp.Connection connection) throws IOException {
        connection.socket.setSoTimeout(50);
        try {
            String head;
            while (!(head = connection.readHead()).isEmpty()) {
                if (head.startsWith("POST")) {
                    connection.read(3);
                }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        } catch (SocketTimeoutException e) {
            // Idle for too long.
        }
    }

    private static void pause(Random random) {
        long nanos = TimeUnit.MILLISECONDS.toNanos(random.nextInt(10) < 6 ? 0 : 46 + random.nextInt(8));
        LockSupport.parkNanos(nanos); // So the pool sees idle connections at their limit.
    }

    private static Gathered posted(ScriptedStream stream) throws InterruptedException {
        stream.request(post("/").add("content-length", "3"), 0, false);
        stream.data(new byte[] {'a', 'b', 'c'}, true);
        return stream.gather();
    }

    /** The application may never read a part of the request that its socket did not take. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_keep_a_connection_only_after_all_of_its_request_was_sent(boolean sent) {
        EmbeddedChannel channel = new EmbeddedChannel() {
            @Override
            protected void doWrite(ChannelOutboundBuffer waiting) throws Exception {
                if (sent) {
                    super.doWrite(waiting);
                }
            }
        };
        Http1Upstream upstream =
                new Http1Upstream(channel.eventLoop(), WebConfig.builder(1).build(), FreezeClocks.SYSTEM);
        Http1Connection connection = new Http1Connection(upstream, null);
        channel.pipeline().addLast(connection.decoder(), connection);
        connection.write(connection.newBuffer(1).writeByte('x'));
        channel.runPendingTasks();
        connection.finish(true, -1);
        assertThat(channel.isOpen()).isEqualTo(sent);
        channel.finishAndReleaseAll();
    }

    /** The connection has carried no request, but it has been idle. */
    @Test
    void should_repeat_a_request_that_met_the_end_of_a_connection_opened_for_another() throws Exception {
        try (RawApp app = new RawApp(connection -> {
                    String head = connection.readHead();
                    if (head.startsWith("GET /gone")) {
                        connection.awaitEnd(); // It was sent before it was cancelled.
                    } else if (!head.isEmpty() && connection.index > 0) {
                        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                        connection.awaitEnd();
                    }
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/gone"), 0, true);
            stream.cancel(ErrorCode.CANCELLED);
            stream.take(ScriptedStream.Reset.class);
            assertThat(stream.exchange(get("/")).text()).isEqualTo("ok");
        }
    }
}
