package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests what clients see when clients disconnect, or workers or the dispatcher end. */
@Execution(ExecutionMode.CONCURRENT)
class FaultsIT {

    private static HttpRequest.Builder request(Rig rig, HttpClient.Version version, String path) {
        URI uri = version == HttpClient.Version.HTTP_2 ? rig.https(path) : rig.http(path);
        return HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(150));
    }

    private static int status(Rig rig, HttpClient.Version version, String path) throws Exception {
        return rig.client(version)
                .send(request(rig, version, path).build(), BodyHandlers.discarding())
                .statusCode();
    }

    /**
     * There is only one worker stream, so a second request is served only if the first one frees
     * it.
     */
    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_free_the_stream_when_the_client_goes_before_the_head(HttpClient.Version version) throws Exception {
        try (Rig rig = Rig.start()) {
            rig.worker(1, 1);
            CompletableFuture<HttpResponse<Void>> silent = rig.client(version)
                    .sendAsync(request(rig, version, "/silent").build(), BodyHandlers.discarding());
            Await.until("the stream is taken", () -> rig.pool().free() == 0);
            silent.cancel(true);
            rig.awaitAllFree();
            assertThat(rig.pool().streams()).isEqualTo(1);
            assertThat(status(rig, version, "/ping")).isEqualTo(200);
        }
    }

    @Test
    void should_free_the_stream_when_an_http1_client_goes_amid_its_upload() throws Exception {
        try (Rig rig = Rig.start()) {
            rig.worker(1, 1);
            try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
                socket.getOutputStream()
                        .write("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome"
                                .getBytes(StandardCharsets.US_ASCII));
                Await.until("the stream is taken", () -> rig.pool().free() == 0);
            }
            rig.awaitAllFree();
            assertThat(rig.pool().streams()).isEqualTo(1);
            assertThat(status(rig, HttpClient.Version.HTTP_1_1, "/ping")).isEqualTo(200);
        }
    }

    @Test
    void should_free_the_stream_when_an_http2_client_resets_amid_its_upload() throws Exception {
        try (Rig rig = Rig.start()) {
            rig.worker(1, 1);
            SubmissionPublisher<java.nio.ByteBuffer> body = new SubmissionPublisher<>();
            CompletableFuture<HttpResponse<Void>> upload = rig.client(HttpClient.Version.HTTP_2)
                    .sendAsync(
                            request(rig, HttpClient.Version.HTTP_2, "/silent")
                                    .POST(BodyPublishers.fromPublisher(body))
                                    .build(),
                            BodyHandlers.discarding());
            body.submit(java.nio.ByteBuffer.wrap(new byte[1000]));
            Await.until("the stream is taken", () -> rig.pool().free() == 0);
            upload.cancel(true);
            rig.awaitAllFree();
            assertThat(rig.pool().streams()).isEqualTo(1);
            assertThat(status(rig, HttpClient.Version.HTTP_2, "/ping")).isEqualTo(200);
            body.close();
        }
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_free_the_stream_when_the_client_goes_amid_its_download(HttpClient.Version version) throws Exception {
        try (Rig rig = Rig.start()) {
            rig.worker(1, 1);
            HttpResponse<InputStream> response = rig.client(version)
                    .send(
                            request(rig, version, "/chunked-response?chunks=100000&delay=5")
                                    .build(),
                            BodyHandlers.ofInputStream());
            assertThat(response.body().read()).isEqualTo('c');
            response.body().close();
            rig.awaitAllFree();
            assertThat(rig.pool().streams()).isEqualTo(1);
            assertThat(status(rig, version, "/ping")).isEqualTo(200);
        }
    }

    /** The first worker is stopped, so it cannot answer, however long the second takes to start. */
    @Test
    void should_send_a_safe_request_to_another_worker_when_its_own_is_killed_before_the_head() throws Exception {
        try (Rig rig = Rig.start(
                Rig.function().build(),
                DispatcherObserver.NONE,
                builder -> builder.liveness(Duration.ofMinutes(5), Duration.ofMinutes(5)))) {
            Process first = rig.process(1, 1, Rig.DEMO);
            signal("STOP", first);
            CompletableFuture<HttpResponse<String>> twice = rig.client(HttpClient.Version.HTTP_2)
                    .sendAsync(request(rig, HttpClient.Version.HTTP_2, "/ping").build(), BodyHandlers.ofString());
            Await.until("the stream is taken", () -> rig.pool().free() == 0);
            rig.worker(1, 1);
            assertThat(twice).isNotDone();
            first.destroyForcibly();
            assertThat(twice.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
        }
    }

    @Test
    void should_answer_502_to_a_post_when_its_worker_is_killed_before_the_head() throws Exception {
        try (Rig rig = Rig.start()) {
            Process first = rig.process(1, 1, Rig.DEMO);
            CompletableFuture<HttpResponse<String>> once = rig.client(HttpClient.Version.HTTP_2)
                    .sendAsync(
                            request(rig, HttpClient.Version.HTTP_2, "/silent")
                                    .POST(BodyPublishers.ofString("not twice"))
                                    .build(),
                            BodyHandlers.ofString());
            Await.until("the stream is taken", () -> rig.pool().free() == 0);
            rig.worker(1, 1);
            first.destroyForcibly();
            assertThat(once.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(502);
        }
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_cut_a_response_whose_worker_is_killed_after_the_head(HttpClient.Version version) throws Exception {
        try (Rig rig = Rig.start()) {
            Process worker = rig.process(1, 1, Rig.DEMO);
            HttpResponse<InputStream> response = rig.client(version)
                    .send(
                            request(rig, version, "/chunked-response?chunks=100000&delay=5")
                                    .build(),
                            BodyHandlers.ofInputStream());
            assertThat(response.body().read()).isEqualTo('c');
            worker.destroyForcibly();
            assertThatThrownBy(() -> response.body().readAllBytes()).isInstanceOf(IOException.class);
        }
    }

    @Test
    void should_give_up_a_frozen_worker_within_the_liveness_deadline() throws Exception {
        try (Rig rig = Rig.start(
                Rig.function().build(),
                DispatcherObserver.NONE,
                builder -> builder.liveness(Duration.ofMillis(500), Duration.ofSeconds(1)))) {
            Process frozen = rig.process(1, 1, Rig.DEMO);
            signal("STOP", frozen);
            long start = System.nanoTime();
            Await.until("the frozen worker is out", () -> rig.pool().workers() == 0);
            // Pinged after 500 ms without traffic, closed 1 s later. The rest allows for a slow
            // machine. TCP would take minutes.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
            rig.worker(1, 1);
            assertThat(status(rig, HttpClient.Version.HTTP_1_1, "/ping")).isEqualTo(200);
        }
    }

    private static void signal(String name, Process process) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                        .start()
                        .waitFor())
                .isZero();
    }

    @Test
    void should_answer_503_with_retry_after_when_no_worker_comes() throws Exception {
        FunctionOptions impatient =
                Rig.function().queue(2, Duration.ofMillis(300)).build();
        try (Rig rig = Rig.start(impatient, DispatcherObserver.NONE)) {
            HttpResponse<String> response = rig.client(HttpClient.Version.HTTP_1_1)
                    .send(request(rig, HttpClient.Version.HTTP_1_1, "/ping").build(), BodyHandlers.ofString());
            assertThat(response.statusCode()).isEqualTo(503);
            assertThat(response.headers().firstValue("retry-after")).isPresent();
        }
    }

    @Test
    void should_answer_503_immediately_while_launches_are_blocked() throws Exception {
        FunctionOptions patient = Rig.function()
                .queue(100, Duration.ofMinutes(2))
                .capacity(CapacityPolicy.between(1, 1))
                .build();
        // AWS refuses each launch, for example because the function does not exist.
        RecordingLauncher launcher = new RecordingLauncher(
                worker -> worker.exit().complete(new WorkerExit(Cause.REFUSED, "no such function")));
        try (Rig rig = Rig.start(patient, DispatcherObserver.NONE, builder -> builder.launcher("demo", launcher))) {
            for (HttpClient.Version version : HttpClient.Version.values()) {
                HttpResponse<String> response = rig.client(version)
                        .send(
                                request(rig, version, "/ping")
                                        .timeout(Duration.ofSeconds(60))
                                        .build(),
                                BodyHandlers.ofString());
                assertThat(response.statusCode()).isEqualTo(503);
                assertThat(response.body()).isEqualTo("no worker is connected, and none is started now\n");
                assertThat(response.headers().firstValueAsLong("retry-after").orElseThrow())
                        .isBetween(1L, 60L);
            }
            assertThatThrownBy(() -> rig.dispatcher
                            .dispatch(DispatchRequest.get("/ping").build())
                            .toCompletableFuture()
                            .get(60, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(DispatchException.class, refused -> {
                        assertThat(refused.failure()).isEqualTo("launches_blocked");
                        assertThat(refused.retryAfter()).isBetween(Duration.ofSeconds(1), Duration.ofSeconds(60));
                    });
        }
    }

    @Test
    void should_answer_504_when_the_handler_takes_too_long_and_serve_on() throws Exception {
        FunctionOptions hasty =
                Rig.function().workerTimeout(Duration.ofSeconds(3)).build();
        try (Rig rig = Rig.start(hasty, DispatcherObserver.NONE)) {
            rig.worker(1, 1);
            assertThat(status(rig, HttpClient.Version.HTTP_2, "/silent")).isEqualTo(504);
            assertThat(status(rig, HttpClient.Version.HTTP_2, "/ping")).isEqualTo(200);
        }
    }

    @Test
    void should_turn_away_a_worker_with_a_wrong_secret() throws Exception {
        RecordingObserver observer = new RecordingObserver();
        try (Rig rig = Rig.start(Rig.function().build(), observer)) {
            Map<String, String> variables = new HashMap<>(Rig.DEMO);
            variables.put("LAMBDA_DISPATCHER_SECRET", "another secret, just as long");
            Process worker = rig.launch(1, 1, variables);
            assertThat(worker.waitFor(120, TimeUnit.SECONDS)).isTrue();
            assertThat(worker.exitValue()).isEqualTo(1);
            assertThat(observer.rejections).isNotEmpty();
            assertThat(rig.pool().workers()).isZero();
        }
    }

    @Test
    void should_lose_no_request_when_a_worker_is_told_to_end_under_load() throws Exception {
        try (Rig rig = Rig.start()) {
            Process leaving = rig.process(2, 20, Rig.DEMO);
            rig.worker(2, 20);
            try (Load load = new Load(rig, true)) {
                load.awaitServed(200);
                leaving.destroy();
                assertThat(leaving.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(leaving.exitValue()).isZero();
                load.awaitServed(200);
            }
        }
    }

    @Test
    void should_lose_no_request_when_the_dispatcher_closes_under_load() throws Exception {
        try (Rig rig = Rig.start()) {
            rig.worker(2, 20);
            try (Load load = new Load(rig, Load.CLIENT_HEEDS_GOAWAY)) {
                load.awaitServed(200);
                load.awaitEachServed();
                load.dispatcherCloses = true;
                rig.dispatcher
                        .close(Duration.ofSeconds(10))
                        .toCompletableFuture()
                        .get(60, TimeUnit.SECONDS);
            }
        }
    }

    /**
     * Clients that send one request after the other. A request is lost if it is not answered with
     * 200, except if its connection is refused.
     */
    private static final class Load implements AutoCloseable {
        private static final int CLIENTS = 8;

        /**
         * Before JDK 24, its client cancelled all streams after GOAWAY, including those that the
         * server would still answer.
         */
        private static final boolean CLIENT_HEEDS_GOAWAY = Runtime.version().feature() >= 24;

        private final ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
        private final AtomicInteger served = new AtomicInteger();
        private final CountDownLatch eachServed = new CountDownLatch(CLIENTS);
        private final ConcurrentLinkedQueue<Object> lost = new ConcurrentLinkedQueue<>();
        private volatile boolean dispatcherCloses;
        private volatile boolean stopped;

        Load(Rig rig, boolean http2) {
            for (int i = 0; i < CLIENTS; i++) {
                HttpClient.Version version =
                        http2 && i % 2 == 0 ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1;
                HttpClient client = rig.client(version);
                HttpRequest request = request(rig, version, "/delay?delay=5").build();
                threads.execute(() -> run(client, request));
            }
        }

        private void run(HttpClient client, HttpRequest request) {
            boolean first = true;
            while (!stopped) {
                try {
                    HttpResponse<Void> response = client.send(request, BodyHandlers.discarding());
                    if (response.statusCode() == 200) {
                        served.incrementAndGet();
                        if (first) {
                            first = false;
                            eachServed.countDown();
                        }
                    } else {
                        lost.add(response);
                    }
                } catch (ConnectException e) {
                    return; // The port is closed: the request was never accepted, so it is not lost.
                } catch (SSLHandshakeException e) {
                    if (dispatcherCloses) {
                        return; // The port was closed before the end of the handshake: nothing was sent.
                    }
                    lost.add(e);
                } catch (Exception e) {
                    lost.add(e);
                }
            }
        }

        void awaitServed(int more) {
            int before = served.get();
            Await.until(more + " served", () -> served.get() >= before + more);
        }

        /**
         * Waits until each client has an accepted connection. When a port closes, a connection that
         * waits to be accepted is reset, even if a request was sent on it.
         */
        void awaitEachServed() throws InterruptedException {
            assertThat(eachServed.await(60, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public void close() throws Exception {
            stopped = true;
            threads.shutdown();
            assertThat(threads.awaitTermination(180, TimeUnit.SECONDS)).isTrue();
            assertThat(lost).isEmpty();
        }
    }
}
