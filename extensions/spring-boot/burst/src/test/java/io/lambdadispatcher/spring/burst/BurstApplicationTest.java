package io.lambdadispatcher.spring.burst;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.spring.worker.WorkerLimit;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.lambdadispatcher.wire.worker.CertificateWriter;
import io.lambdadispatcher.wire.worker.PortKey;
import jakarta.servlet.http.HttpServletRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.socket.TextMessage;
import org.springframework.web.socket.WebSocketSession;
import org.springframework.web.socket.config.annotation.EnableWebSocket;
import org.springframework.web.socket.config.annotation.WebSocketConfigurer;
import org.springframework.web.socket.config.annotation.WebSocketHandlerRegistry;
import org.springframework.web.socket.handler.TextWebSocketHandler;

/** An application of Spring MVC that is its own base. No worker is launched. */
@EachRelease
class BurstApplicationTest {
    private final HttpClient client = HttpClient.newHttpClient();
    private final List<Integer> ports = List.of(FreePort.next(), FreePort.next(), FreePort.next());

    /** An application that knows nothing of the dispatcher. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableWebSocket
    @RestController
    static class Shop implements WebSocketConfigurer {
        static final AtomicInteger SLOW = new AtomicInteger();
        static volatile CountDownLatch gate = new CountDownLatch(0);

        private final ExecutorService events = Executors.newCachedThreadPool();

        /** Launches nothing, so that all requests are the base's. */
        @Bean
        WorkerLauncher noWorkers() {
            return new WorkerLauncher() {
                @Override
                public LaunchedWorker launch(LaunchRequest request) {
                    throw new IllegalStateException("this test launches no worker");
                }

                @Override
                public void close(Duration grace) {}
            };
        }

        @Override
        public void registerWebSocketHandlers(WebSocketHandlerRegistry registry) {
            registry.addHandler(
                    new TextWebSocketHandler() {
                        @Override
                        protected void handleTextMessage(WebSocketSession session, TextMessage message)
                                throws IOException {
                            session.sendMessage(new TextMessage(message.getPayload() + message.getPayload()));
                        }
                    },
                    "/twice");
        }

        @GetMapping("/who")
        String who(HttpServletRequest request) {
            return request.getRemoteAddr() + " " + request.getRequestURL();
        }

        @PostMapping("/echo")
        byte[] echo(@RequestBody byte[] body) {
            return body;
        }

        @GetMapping("/slow")
        String slow() throws InterruptedException {
            SLOW.incrementAndGet();
            gate.await();
            return "slow";
        }

        @GetMapping(path = "/sales", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
        SseEmitter sales() {
            SseEmitter emitter = new SseEmitter(60_000L);
            CountDownLatch next = gate;
            events.execute(() -> {
                try {
                    emitter.send("first");
                    next.await();
                    emitter.send("second");
                    emitter.complete();
                } catch (IOException | InterruptedException e) {
                    emitter.completeWithError(e);
                }
            });
            return emitter;
        }
    }

    @AfterEach
    void open() {
        Shop.gate.countDown();
    }

    private ConfigurableApplicationContext run(String... more) {
        return application(more).run();
    }

    private SpringApplicationBuilder application(String... more) {
        return new SpringApplicationBuilder(Shop.class)
                .properties(
                        "lambda-dispatcher.burst.function=local",
                        "lambda-dispatcher.burst.base-concurrency=50",
                        "server.address=127.0.0.1",
                        "server.port=" + ports.get(0),
                        "lambda-dispatcher.workers.port=" + ports.get(1),
                        "management.server.port=" + ports.get(2))
                .properties(more);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(uri(path));
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:" + ports.get(0) + path);
    }

    private int status(HttpRequest request) {
        try {
            return client.send(request, BodyHandlers.discarding()).statusCode();
        } catch (IOException | InterruptedException e) {
            throw new CompletionException(e);
        }
    }

    private String body(HttpRequest request) throws Exception {
        HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
        assertThat(response.statusCode()).isEqualTo(200);
        return response.body();
    }

    @Test
    void should_show_the_application_what_the_client_asked_for() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            assertThat(application.getEnvironment().getProperty("lambda-dispatcher.burst.role"))
                    .isEqualTo("base");
            assertThat(body(request("/who").build())).isEqualTo("127.0.0.1 " + uri("/who"));
            HttpRequest spoofed = request("/who")
                    .header("x-forwarded-for", "203.0.113.9")
                    .header("x-forwarded-proto", "https")
                    .build();
            assertThat(body(spoofed)).isEqualTo("127.0.0.1 " + uri("/who"));
        }
    }

    @Test
    void should_believe_the_proxy_that_the_application_believes() throws Exception {
        try (ConfigurableApplicationContext application = run("server.forward-headers-strategy=native")) {
            assertThat(application.isActive()).isTrue();
            HttpRequest proxied = request("/who")
                    .header("x-forwarded-for", "203.0.113.9")
                    .header("x-forwarded-proto", "https")
                    .header("x-forwarded-port", "443")
                    .build();
            assertThat(body(proxied)).isEqualTo("203.0.113.9 https://127.0.0.1/who");
        }
    }

    @ParameterizedTest
    @CsvSource({"native, https://shop.example.org/who", "framework, https://shop.example.org/shop/who"})
    void should_believe_host_and_prefix_of_the_proxy(String strategy, String url) throws Exception {
        try (ConfigurableApplicationContext application = run("server.forward-headers-strategy=" + strategy)) {
            assertThat(application.isActive()).isTrue();
            HttpRequest proxied = request("/who")
                    .header("x-forwarded-for", "203.0.113.9")
                    .header("x-forwarded-proto", "https")
                    .header("x-forwarded-host", "shop.example.org")
                    .header("x-forwarded-prefix", "/shop")
                    .build();
            assertThat(body(proxied)).isEqualTo("203.0.113.9 " + url);
        }
    }

    /** Tomcat skips the user's own proxies in x-forwarded-for, and believes the dispatcher. */
    @ParameterizedTest
    @ValueSource(strings = {"198\\.51\\.100\\.7", "198.51.100.0/24"})
    void should_obey_the_proxies_of_tomcat(String proxies) throws Exception {
        try (ConfigurableApplicationContext application = run(
                "server.tomcat.remoteip.internal-proxies=" + proxies,
                "server.tomcat.remoteip.remote-ip-header=x-forwarded-for")) {
            assertThat(application.isActive()).isTrue();
            HttpRequest proxied = request("/who")
                    .header("x-forwarded-for", "203.0.113.9, 198.51.100.7")
                    .header("x-forwarded-proto", "https")
                    .header("x-forwarded-port", "443")
                    .build();
            assertThat(body(proxied)).isEqualTo("203.0.113.9 https://127.0.0.1/who");
        }
    }

    @Test
    void should_serve_bodies_events_and_websockets() throws Exception {
        byte[] body = new byte[5 << 20];
        new Random(1).nextBytes(body);
        Shop.gate = new CountDownLatch(1);
        try (ConfigurableApplicationContext application = run()) {
            assertThat(application.isActive()).isTrue();
            HttpResponse<byte[]> echo = client.send(
                    request("/echo")
                            .header("content-type", "application/octet-stream")
                            .POST(BodyPublishers.ofByteArray(body))
                            .build(),
                    BodyHandlers.ofByteArray());
            assertThat(echo.body()).isEqualTo(body);

            HttpResponse<InputStream> sales = client.send(request("/sales").build(), BodyHandlers.ofInputStream());
            BufferedReader events = new BufferedReader(new InputStreamReader(sales.body(), StandardCharsets.UTF_8));
            assertThat(events.readLine()).isEqualTo("data:first");
            assertThat(events.readLine()).isEmpty();
            Shop.gate.countDown();
            assertThat(events.readLine()).isEqualTo("data:second");

            CompletableFuture<String> heard = new CompletableFuture<>();
            WebSocket.Listener listener = new WebSocket.Listener() {
                @Override
                public CompletionStage<?> onText(WebSocket socket, CharSequence text, boolean last) {
                    heard.complete(text.toString());
                    return WebSocket.Listener.super.onText(socket, text, last);
                }
            };
            URI twice = URI.create(uri("/twice").toString().replace("http:", "ws:"));
            WebSocket socket =
                    client.newWebSocketBuilder().buildAsync(twice, listener).get(60, TimeUnit.SECONDS);
            socket.sendText("tick", true).get(60, TimeUnit.SECONDS);
            assertThat(heard.get(60, TimeUnit.SECONDS)).isEqualTo("ticktick");
            socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get(60, TimeUnit.SECONDS);

            assertThat(launches(application)).isZero();
        }
    }

    private static PoolSnapshot pool(ConfigurableApplicationContext application) {
        return application.getBean(Dispatcher.class).pools().get(0);
    }

    private static int launches(ConfigurableApplicationContext application) {
        return application.getBean(Dispatcher.class).capacity().stream()
                .mapToInt(CapacitySnapshot::launchesInLastMinute)
                .sum();
    }

    /** Clients that ask before and while the application starts launch no worker. */
    @Test
    void should_open_its_port_when_the_base_is_connected() throws Exception {
        HttpRequest who = request("/who").build();
        CompletableFuture<String> first = askUntilConnected(who);
        try (ConfigurableApplicationContext application = run()) {
            assertThat(application.getBean(Dispatcher.class).pools())
                    .singleElement()
                    .extracting(PoolSnapshot::readyBaseWorkers)
                    .isEqualTo(1);
            assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo("127.0.0.1 " + uri("/who"));
            assertThat(launches(application)).isZero();
        }
    }

    private CompletableFuture<String> askUntilConnected(HttpRequest request) {
        return client.sendAsync(request, BodyHandlers.ofString())
                .thenApply(HttpResponse::body)
                .exceptionallyComposeAsync(
                        failure -> failure.getCause() instanceof ConnectException
                                ? askUntilConnected(request)
                                : CompletableFuture.failedFuture(failure),
                        CompletableFuture.delayedExecutor(5, TimeUnit.MILLISECONDS));
    }

    @Test
    void should_answer_on_the_management_port_itself() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            assertThat(application.isActive()).isTrue();
            HttpRequest health = HttpRequest.newBuilder(
                            URI.create("http://127.0.0.1:" + ports.get(2) + "/actuator/health"))
                    .build();
            // The worker learns a moment after the dispatcher that it is ready.
            Await.until("it is healthy", () -> status(health) == 200);
            assertThat(body(health)).contains("\"status\":\"UP\"");
        }
    }

    @Test
    void should_connect_to_a_worker_port_without_tls() throws Exception {
        try (ConfigurableApplicationContext application = run("lambda-dispatcher.workers.tls.certificate=off")) {
            assertThat(application.getBean(Dispatcher.class).workerFingerprints())
                    .isEmpty();
            assertThat(body(request("/who").build())).isEqualTo("127.0.0.1 " + uri("/who"));
        }
    }

    @Test
    void should_connect_to_a_worker_port_with_a_certificate_of_its_own(@TempDir Path directory) throws Exception {
        KeyPair keys = PortKey.of("not the secret of the application".getBytes(StandardCharsets.US_ASCII));
        X509Certificate certificate =
                CertificateWriter.selfSigned(keys, "elsewhere", Duration.ofDays(1), List.of(), List.of());
        try (ConfigurableApplicationContext application = run(
                "lambda-dispatcher.workers.tls.certificate=" + pem(directory, "CERTIFICATE", certificate.getEncoded()),
                "lambda-dispatcher.workers.tls.key="
                        + pem(directory, "PRIVATE KEY", keys.getPrivate().getEncoded()))) {
            assertThat(application.getBean(Dispatcher.class).workerFingerprints())
                    .containsExactly(PortKey.fingerprint(keys.getPublic()));
            assertThat(body(request("/who").build())).isEqualTo("127.0.0.1 " + uri("/who"));
        }
    }

    private static Path pem(Path directory, String label, byte[] der) throws IOException {
        String lines = Base64.getMimeEncoder().encodeToString(der);
        return Files.writeString(
                directory.resolve(label + ".pem"),
                "-----BEGIN " + label + "-----\n" + lines + "\n-----END " + label + "-----\n");
    }

    /** As if a dependency were slow. What exceeds the limit could go to launched workers. */
    @Test
    void should_take_as_many_requests_as_the_application_says() {
        Shop.gate = new CountDownLatch(1);
        Shop.SLOW.set(0);
        try (ConfigurableApplicationContext application = run()) {
            WorkerLimit limit = application.getBean(WorkerLimit.class);
            limit.limit(3);
            Await.until(
                    "the dispatcher knows the limit", () -> pool(application).free() == 3);
            List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                answers.add(client.sendAsync(request("/slow").build(), BodyHandlers.ofString()));
            }
            Await.until(
                    "the others wait",
                    () -> Shop.SLOW.get() == 3 && pool(application).queued() == 7);
            limit.limit(50);
            Await.until("none waits", () -> Shop.SLOW.get() == 10);
            Shop.gate.countDown();
            answers.forEach(answer -> assertThat(answer.join().body()).isEqualTo("slow"));
            assertThatThrownBy(() -> limit.limit(0)).hasMessage("requests: 0, expected 1 or more");
        }
    }

    /** A load balancer that asks for the readiness sends requests until it notices. */
    @Test
    void should_keep_serving_during_the_delay_while_it_refuses_traffic() throws Exception {
        ConfigurableApplicationContext application = run("lambda-dispatcher.shutdown.delay=1h");
        HttpRequest readiness = HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + ports.get(2) + "/actuator/health/readiness"))
                .build();
        assertThat(status(readiness)).isEqualTo(200);
        Thread end = new Thread(application::close);
        end.start();
        Await.until("it refuses traffic", () -> status(readiness) == 503);
        HttpRequest who = request("/who").build();
        assertThat(HttpClient.newHttpClient()
                        .send(who, BodyHandlers.discarding())
                        .statusCode())
                .isEqualTo(200);
        end.interrupt();
        end.join(60_000);
        assertThat(end.isAlive()).isFalse();
        assertThatThrownBy(() -> HttpClient.newHttpClient().send(who, BodyHandlers.discarding()))
                .isInstanceOf(ConnectException.class);
    }

    /** The dispatcher drains first: what it has accepted is served by the whole application. */
    @Test
    void should_finish_all_requests_when_the_application_ends() throws Exception {
        Shop.gate = new CountDownLatch(1);
        Shop.SLOW.set(0);
        ConfigurableApplicationContext application = run();
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        // More than the base serves at a time. The others are queued.
        for (int i = 0; i < 60; i++) {
            answers.add(client.sendAsync(request("/slow").build(), BodyHandlers.ofString()));
        }
        Await.until("the base is full", () -> Shop.SLOW.get() == 50);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger("io.lambdadispatcher.spring.worker.WorkerLifecycle");
        logger.setLevel(Level.WARN);
        logger.addAppender(log);
        Thread end = new Thread(application::close);
        end.start();
        Await.until("no client is accepted", () -> {
            try {
                // It waits in the queue if the port has not closed yet.
                HttpRequest late =
                        request("/who").timeout(Duration.ofMillis(200)).build();
                HttpClient.newHttpClient().send(late, BodyHandlers.discarding());
                return false;
            } catch (ConnectException e) {
                return true;
            } catch (IOException | InterruptedException e) {
                return false;
            }
        });
        assertThat(end.isAlive()).as("waits for its requests").isTrue();
        Shop.gate.countDown();
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get(60, TimeUnit.SECONDS).body()).isEqualTo("slow");
        }
        end.join(60_000);
        assertThat(end.isAlive()).isFalse();
        assertThat(log.list).as("the base's own worker ends as expected").isEmpty();
    }

    /** Nothing is left that would keep the JVM alive. */
    @Test
    void should_name_the_port_that_is_in_use_and_stop_what_has_started() throws IOException {
        Map<String, Object> beans = new ConcurrentHashMap<>();
        BeanPostProcessor capture = new BeanPostProcessor() {
            @Override
            public Object postProcessAfterInitialization(Object bean, String name) {
                beans.put(name, bean);
                return bean;
            }
        };
        try (ServerSocket taken = new ServerSocket(0)) {
            SpringApplicationBuilder application = application("server.port=" + taken.getLocalPort())
                    .initializers(context -> context.getBeanFactory().addBeanPostProcessor(capture));
            assertThatThrownBy(application::run)
                    .hasStackTraceContaining("cannot listen on")
                    .hasStackTraceContaining(String.valueOf(taken.getLocalPort()));
        }
        assertThat(((Dispatcher) beans.get("lambdaDispatcher"))
                        .close(Duration.ofDays(1))
                        .toCompletableFuture())
                .isDone();
        assertThat(((SmartLifecycle) beans.get("lambdaWorkerLifecycle")).isRunning())
                .isFalse();
    }
}
