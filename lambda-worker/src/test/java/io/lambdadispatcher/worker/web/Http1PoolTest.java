package io.lambdadispatcher.worker.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.ScriptedStream.Gathered;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class Http1PoolTest {
    /** Move as the test says. */
    private static final class FakeClocks implements Clocks {
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
    void should_learn_when_the_app_closes_idle_connections() {
        IdleRule rule = new IdleRule(4_000_000_000L);
        assertThat(rule.isSafe(3_999_999_999L)).isTrue();
        rule.onClosedIdle(50_000_000);
        assertThat(rule.isSafe(24_999_999)).isTrue();
        assertThat(rule.isSafe(25_000_000)).isFalse();
        assertThat(rule.isYoung(3_999_999_999L)).isTrue();
        rule.onClosedIdle(90_000_000);
        assertThat(rule.isSafe(25_000_000)).isFalse();
        rule.onClosedIdle(10);
        assertThat(rule.isSafe(1_999_999)).isTrue();
        assertThat(rule.isYoung(4_000_000_000L)).isFalse();
    }

    /** Pauses are drawn so that many requests come just when the application closes. */
    @Test
    void should_lose_no_request_to_an_app_that_closes_idle_connections_after_50_ms() throws Exception {
        long seed = System.nanoTime();
        try (RawApp app = new RawApp(connection -> {
                    connection.socket.setSoTimeout(50);
                    try {
                        while (true) {
                            String head = connection.readHead();
                            if (head.isEmpty()) {
                                return;
                            }
                            if (head.startsWith("POST")) {
                                connection.read(3);
                            }
                            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                        }
                    } catch (SocketTimeoutException e) {
                        // Idle for too long.
                    }
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle, c -> c.withStreams(2, 8))) {
            List<Thread> clients = new ArrayList<>();
            List<String> failures = java.util.Collections.synchronizedList(new ArrayList<>());
            AtomicLong served = new AtomicLong();
            for (int link = 0; link < 2; link++) {
                ScriptedDispatcher.Link ready = harness.dispatcher.takeReady();
                for (int i = 0; i < 8; i++) {
                    ScriptedStream stream = ready.takeStream();
                    Random random = new Random(seed + clients.size());
                    clients.add(new Thread(() -> {
                        try {
                            for (int n = 0; n < 40; n++) {
                                pause(random);
                                Gathered answer = n % 2 == 0 ? stream.exchange(get("/")) : posted(stream);
                                if (answer.status().equals("200")) {
                                    served.incrementAndGet();
                                } else {
                                    failures.add(n + ": " + answer.status() + " " + answer.text());
                                }
                            }
                        } catch (InterruptedException | AssertionError e) {
                            failures.add(e.toString());
                        }
                    }));
                }
            }
            clients.forEach(Thread::start);
            for (Thread client : clients) {
                client.join();
            }
            assertThat(failures).as("seed " + seed).isEmpty();
            assertThat(served).hasValue(16 * 40);
        }
    }

    private static void pause(Random random) {
        long nanos = TimeUnit.MILLISECONDS.toNanos(random.nextInt(10) < 6 ? 0 : 46 + random.nextInt(8));
        java.util.concurrent.locks.LockSupport.parkNanos(nanos);
    }

    private static Gathered posted(ScriptedStream stream) throws InterruptedException {
        stream.request(post("/").add("content-length", "3"), 0, false);
        stream.data(new byte[] {'a', 'b', 'c'}, true);
        return stream.gather();
    }
}
