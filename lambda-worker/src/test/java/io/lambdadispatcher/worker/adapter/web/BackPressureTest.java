package io.lambdadispatcher.worker.adapter.web;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bodies of 64 MB and slow readers at both ends. */
@Timeout(120)
class BackPressureTest {
    private static final long BODY_BYTES = 64L * 1024 * 1024;
    private static final int PART_BYTES = 64 * 1024;

    /**
     * The maximum number of bytes in transit: windows, socket buffers of the kernel at both ends,
     * and the relay's own buffers. It is far below the size of the body.
     */
    private static final long MOST_UNDER_WAY_BYTES = 24L * 1024 * 1024;

    @Test
    void should_stop_the_app_when_the_client_is_slow_and_lose_nothing() throws Exception {
        AtomicLong written = new AtomicLong();
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: " + BODY_BYTES + "\r\n\r\n");
                    byte[] part = new byte[PART_BYTES];
                    while (written.get() < BODY_BYTES) {
                        connection.out.write(part);
                        written.addAndGet(part.length);
                    }
                    connection.awaitEnd();
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.holdsWindow = true;
            stream.countsOnly = true;
            stream.request(get("/"), 0, true);
            stream.take(ScriptedStream.Head.class);
            awaitStandstill(written);
            assertThat(written).hasValueLessThan(MOST_UNDER_WAY_BYTES);
            stream.releaseWindow();
            stream.awaitBody(BODY_BYTES);
            assertThat(stream.take(ScriptedStream.Data.class).end()).isTrue();
            assertThat(stream.bodyBytes).hasValue(BODY_BYTES);
        }
    }

    @Test
    void should_stop_the_client_when_the_app_is_slow_and_lose_nothing() throws Exception {
        AtomicLong sent = new AtomicLong();
        CountDownLatch go = new CountDownLatch(1);
        try (RawApp app = new RawApp(connection -> {
                    connection.readHead();
                    go.await();
                    long left = BODY_BYTES;
                    byte[] part = new byte[PART_BYTES];
                    while (left > 0) {
                        int n = connection.in.read(part);
                        if (n < 0) {
                            return;
                        }
                        left -= n;
                    }
                    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    connection.awaitEnd();
                });
                Harness harness = new Harness(new WebHandler(app.config())::handle)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/").add("content-length", Long.toString(BODY_BYTES)), 0, false);
            byte[] part = new byte[PART_BYTES];
            for (long queued = PART_BYTES; queued <= BODY_BYTES; queued += PART_BYTES) {
                stream.dataWhenTaken(part, queued == BODY_BYTES).addListener(taken -> sent.addAndGet(PART_BYTES));
            }
            awaitStandstill(sent);
            assertThat(sent).hasValueLessThan(MOST_UNDER_WAY_BYTES);
            go.countDown();
            assertThat(stream.gather().text()).isEqualTo("ok");
            assertThat(sent).hasValue(BODY_BYTES);
        }
    }

    /** Waits until the counter has moved, and then has not moved for a while. */
    static void awaitStandstill(AtomicLong counter) {
        Await.until("it has moved", () -> counter.get() > 0);
        Await.settled("the counter", Duration.ofMillis(250), counter::get);
    }
}
