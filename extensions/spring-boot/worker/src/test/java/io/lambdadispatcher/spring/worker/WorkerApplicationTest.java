package io.lambdadispatcher.spring.worker;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.handler.DrainReason;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ExitCodeEvent;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** An application of Spring MVC as an external worker. */
@EachRelease
class WorkerApplicationTest {
    private final TestPort port = new TestPort();
    private final HttpClient client = HttpClient.newHttpClient();

    @AfterEach
    void close() {
        Shop.gate.countDown();
        port.close();
    }

    /** Needs the application's scheduler. */
    @RestController
    static class Later {
        private final ThreadPoolTaskScheduler scheduler;

        Later(ThreadPoolTaskScheduler scheduler) {
            this.scheduler = scheduler;
        }

        @Bean
        static ThreadPoolTaskScheduler scheduler() {
            return new ThreadPoolTaskScheduler();
        }

        @GetMapping("/later")
        String later() throws Exception {
            Shop.SLOW.incrementAndGet();
            Shop.gate.await();
            return scheduler.submit(() -> "later").get();
        }
    }

    private ConfigurableApplicationContext run(String... more) {
        return new SpringApplicationBuilder(Shop.class, Later.class)
                .properties(
                        "server.port=0",
                        "server.address=127.0.0.1",
                        "lambda-dispatcher.worker.addresses=" + port.workerAddress(),
                        "lambda-dispatcher.worker.function=shop",
                        "lambda-dispatcher.worker.secret=" + TestPort.SECRET)
                .properties(more)
                .run();
    }

    @Test
    void should_serve_controllers() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            port.awaitWorkers(1);
            HttpResponse<String> hello = client.send(port.request("/hello").build(), BodyHandlers.ofString());
            assertThat(hello.statusCode()).isEqualTo(200);
            assertThat(hello.body())
                    .isEqualTo("{\"host\":\"127.0.0.1:"
                            + port.dispatcher.publicAddresses().get(0).getPort() + "\"}");

            HttpResponse<String> added = client.send(
                    port.request("/articles")
                            .header("content-type", "application/json")
                            .POST(BodyPublishers.ofString("{\"name\":\"apple\",\"cents\":45}"))
                            .build(),
                    BodyHandlers.ofString());
            assertThat(added.statusCode()).isEqualTo(201);
            assertThat(added.body()).isEqualTo("{\"name\":\"apple\",\"cents\":46}");

            assertThat(client.send(port.request("/nowhere").build(), BodyHandlers.discarding())
                            .statusCode())
                    .isEqualTo(404);
            assertThat(application
                            .getBean("lambdaWorkerHealthIndicator", HealthIndicator.class)
                            .health()
                            .getStatus())
                    .isEqualTo(Status.UP);
        }
    }

    @Test
    void should_stream_events_one_by_one() throws Exception {
        Shop.gate = new CountDownLatch(1);
        try (ConfigurableApplicationContext application = run()) {
            assertThat(application.isActive()).isTrue();
            HttpResponse<InputStream> sales = client.send(port.request("/sales").build(), BodyHandlers.ofInputStream());
            BufferedReader events = new BufferedReader(new InputStreamReader(sales.body(), StandardCharsets.UTF_8));
            assertThat(events.readLine()).isEqualTo("data:first");
            assertThat(events.readLine()).isEmpty();
            Shop.gate.countDown();
            assertThat(events.readLine()).isEqualTo("data:second");
        }
    }

    @Test
    void should_echo_a_large_body() throws Exception {
        byte[] body = new byte[20 << 20];
        new Random(1).nextBytes(body);
        try (ConfigurableApplicationContext application = run()) {
            assertThat(application.isActive()).isTrue();
            HttpResponse<byte[]> echo = client.send(
                    port.request("/echo")
                            .header("content-type", "application/octet-stream")
                            .POST(BodyPublishers.ofByteArray(body))
                            .build(),
                    BodyHandlers.ofByteArray());
            assertThat(echo.statusCode()).isEqualTo(200);
            assertThat(echo.body()).isEqualTo(body);
        }
    }

    @Test
    void should_take_an_upload_and_open_a_websocket() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            port.awaitWorkers(1);
            assertThat(application.isActive()).isTrue();
            String form =
                    "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n12345\r\n--b--\r\n";
            HttpResponse<String> upload = client.send(
                    port.request("/uploads")
                            .header("content-type", "multipart/form-data; boundary=b")
                            .POST(BodyPublishers.ofString(form))
                            .build(),
                    BodyHandlers.ofString());
            assertThat(upload.body()).isEqualTo("a.txt 5");

            CompletableFuture<String> heard = new CompletableFuture<>();
            WebSocket.Listener listener = new WebSocket.Listener() {
                @Override
                public CompletionStage<?> onText(WebSocket socket, CharSequence text, boolean last) {
                    heard.complete(text.toString());
                    return WebSocket.Listener.super.onText(socket, text, last);
                }
            };
            URI twice =
                    URI.create(port.request("/twice").build().uri().toString().replace("http:", "ws:"));
            WebSocket socket =
                    client.newWebSocketBuilder().buildAsync(twice, listener).get(60, TimeUnit.SECONDS);
            socket.sendText("tick", true).get(60, TimeUnit.SECONDS);
            assertThat(heard.get(60, TimeUnit.SECONDS)).isEqualTo("ticktick");
            socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get(60, TimeUnit.SECONDS);
        }
    }

    /**
     * All requests are answered: those that the first application has begun, and those that arrive
     * while it ends.
     */
    @Test
    void should_lose_no_request_when_the_application_ends() throws Exception {
        Shop.gate = new CountDownLatch(1);
        Shop.SLOW.set(0);
        ConfigurableApplicationContext first = run();
        port.awaitWorkers(1);
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            answers.add(client.sendAsync(port.request("/slow").build(), BodyHandlers.ofString()));
        }
        Await.until("all are served", () -> Shop.SLOW.get() == 20);
        Thread end = new Thread(first::close);
        end.start();
        port.awaitWorkers(0);
        for (int i = 0; i < 20; i++) {
            answers.add(client.sendAsync(port.request("/slow").build(), BodyHandlers.ofString()));
        }
        try (ConfigurableApplicationContext second = run()) {
            assertThat(second.isActive()).isTrue();
            Await.until("all are served", () -> Shop.SLOW.get() == 40);
            assertThat(end.isAlive()).as("waits for its requests").isTrue();
            Shop.gate.countDown();
            for (CompletableFuture<HttpResponse<String>> answer : answers) {
                assertThat(answer.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
                assertThat(answer.join().body()).isEqualTo("slow");
            }
            end.join(60_000);
            assertThat(end.isAlive()).isFalse();
        }
    }

    /**
     * Schedulers take no more tasks when the application has begun to end. Contexts below the
     * application may end before.
     */
    @Test
    void should_finish_requests_with_the_help_of_the_whole_application() throws Exception {
        Shop.gate = new CountDownLatch(1);
        Shop.SLOW.set(0);
        ConfigurableApplicationContext application = run();
        port.awaitWorkers(1);
        try (GenericApplicationContext below = new GenericApplicationContext(application)) {
            below.refresh();
        }
        assertThat(application.getBean(WorkerLifecycle.class).worker()).isNotNull();
        CompletableFuture<HttpResponse<String>> answer =
                client.sendAsync(port.request("/later").build(), BodyHandlers.ofString());
        Await.until("it is served", () -> Shop.SLOW.get() == 1);
        Thread end = new Thread(application::close);
        end.start();
        port.awaitWorkers(0);
        Shop.gate.countDown();
        assertThat(answer.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
        assertThat(answer.join().body()).isEqualTo("later");
        end.join(60_000);
        assertThat(end.isAlive()).isFalse();
    }

    @Test
    void should_close_the_application_when_the_worker_is_rejected() throws Exception {
        ConfigurableApplicationContext application = run("lambda-dispatcher.worker.secret=another secret for tests");
        Await.until("the application is closed", () -> !application.isActive());
    }

    @Test
    void should_serve_again_after_a_restart_of_the_context() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            port.awaitWorkers(1);
            application.stop();
            port.awaitWorkers(0);
            assertThat(application.getBean(WorkerLifecycle.class).worker()).isNull();
            application.start();
            port.awaitWorkers(1);
            Worker again = application.getBean(WorkerLifecycle.class).worker();
            assertThat(again).isNotNull();
            assertThat(client.send(port.request("/hello").build(), BodyHandlers.discarding())
                            .statusCode())
                    .isEqualTo(200);
        }
    }

    /** As Spring 6.2 does if a listener fails at the start: it stops nothing. */
    @Test
    void should_end_the_worker_with_its_bean() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            port.awaitWorkers(1);
            Worker worker = application.getBean(WorkerLifecycle.class).worker();
            assertThat(worker).isNotNull();
            application.getBeanFactory().destroyBean(application.getBean(WorkerLifecycle.class));
            worker.done().toCompletableFuture().get(60, TimeUnit.SECONDS);
            port.awaitWorkers(0);
        }
    }

    /** A dispatcher in the same process, for example, may end before the worker is stopped. */
    @Test
    void should_say_nothing_of_a_worker_that_ends_while_the_application_closes() throws Exception {
        List<Integer> codes = new CopyOnWriteArrayList<>();
        ConfigurableApplicationContext application = run();
        port.awaitWorkers(1);
        ListAppender<ILoggingEvent> log = logged();
        Worker worker = application.getBean(WorkerLifecycle.class).worker();
        assertThat(worker).isNotNull();
        application.addApplicationListener(new EndsBefore(worker));
        application.addApplicationListener((ExitCodeEvent exit) -> codes.add(exit.getExitCode()));
        application.close();
        assertThat(log.list).isEmpty();
        assertThat(codes).isEmpty();
    }

    private record EndsBefore(Worker worker) implements ApplicationListener<ContextClosedEvent>, Ordered {
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }

        @Override
        public void onApplicationEvent(ContextClosedEvent event) {
            worker.close();
            worker.done().toCompletableFuture().join();
        }
    }

    private static ListAppender<ILoggingEvent> logged() {
        // Spring Boot has set up logging again.
        Logger logger = (Logger) LoggerFactory.getLogger(WorkerLifecycle.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(log);
        return log;
    }

    /** The exit code tells the dispatcher how its launched worker ended. Only failures warn. */
    @Test
    void should_end_the_process_with_the_worker_when_a_dispatcher_has_launched_it() throws Exception {
        assertThat(exitCode(TestPort.SECRET, Level.INFO)).isZero();
        assertThat(exitCode("another secret for tests", Level.WARN)).isEqualTo(1);
    }

    /** @param level at which the end is logged */
    private int exitCode(String secret, Level level) throws Exception {
        CompletableFuture<Integer> exit = new CompletableFuture<>();
        byte[] key = LaunchToken.key(secret.getBytes(StandardCharsets.UTF_8), "shop");
        String token = new LaunchToken("shop", "launched", Instant.now().plusSeconds(60)).sign(key);
        String payload =
                """
                {"protocolVersion":1,"function":"shop","workerId":"launched","token":"%s","tlsFingerprint":"%s",
                "addresses":["%s"]}""".formatted(token, port.dispatcher.workerFingerprints().get(0), port.workerAddress());
        ConfigurableApplicationContext application = run("lambda-dispatcher.worker.enabled=false");
        ListAppender<ILoggingEvent> log = logged();
        WorkerProperties none = new WorkerProperties(
                true, List.of(), null, null, null, null, null, null, null, null, null, null, null, null);
        WorkerLifecycle lifecycle = new WorkerLifecycle(
                application, new WorkerSettings(none, Map.of("LAMBDA_DISPATCHER_PAYLOAD", payload)), exit::complete);
        lifecycle.start();
        Worker worker = lifecycle.worker();
        if (worker != null) {
            worker.ready().thenAccept(ready -> ready.drain(DrainReason.IDLE));
        }
        int code = exit.get(60, TimeUnit.SECONDS);
        assertThat(application.isActive()).isFalse();
        assertThat(log.list).extracting(ILoggingEvent::getLevel).containsExactly(level);
        return code;
    }
}
