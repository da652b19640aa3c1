package io.lambdadispatcher.spring.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.WorkerMain;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** Workers in one process that serve with one application, as on AWS Lambda. */
@EachRelease
class SpringBootHandlerTest {
    private final HttpClient client = HttpClient.newHttpClient();

    /** Its main method starts nothing. */
    static final class Nothing {
        public static void main(String[] args) {}
    }

    static final class Broken {
        public static void main(String[] args) {
            throw new UnsupportedOperationException("broken by the test");
        }
    }

    /** Fails after its web server has started, and its main method returns. */
    @SpringBootConfiguration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Silent {
        public static void main(String[] args) {
            try {
                SpringApplication.run(Silent.class);
            } catch (IllegalStateException e) {
                // A program that has logged the failure returns like this.
            }
        }

        @Bean
        ApplicationRunner runner() {
            return arguments -> {
                throw new IllegalStateException("no database");
            };
        }
    }

    /** Starts when the test says so. */
    @SpringBootConfiguration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Slow {
        static final CountDownLatch STARTING = new CountDownLatch(1);
        static final CountDownLatch MAY_START = new CountDownLatch(1);
        static final CompletableFuture<Throwable> FAILURE = new CompletableFuture<>();

        public static void main(String[] args) {
            try {
                SpringApplication.run(Slow.class);
            } catch (RuntimeException e) {
                FAILURE.complete(e);
            }
        }

        @Bean
        Object slow() throws InterruptedException {
            STARTING.countDown();
            MAY_START.await();
            return "started";
        }
    }

    /** Has the properties of a worker that launches itself. */
    static final class Addressed {
        public static void main(String[] args) {
            SpringApplication application = new SpringApplication(Shop.class);
            application.setDefaultProperties(Map.of("lambda-dispatcher.worker.addresses", "127.0.0.1:1"));
            application.run();
        }
    }

    /** Has the environment of a worker that a dispatcher has launched as a process. */
    static final class Launched {
        public static void main(String[] args) {
            SpringApplication application = new SpringApplication(Shop.class);
            application.setEnvironment(new StandardEnvironment() {
                @Override
                public Map<String, Object> getSystemEnvironment() {
                    return Map.of("LAMBDA_DISPATCHER_PAYLOAD", "not usable");
                }
            });
            application.run();
        }
    }

    /** Its events end when the worker drains, after all that Spring does then. */
    @RestController
    static final class Open {
        public static void main(String[] args) {
            Shop.gate = new CountDownLatch(1);
            SpringApplication.run(new Class<?>[] {Shop.class, Open.class}, args);
        }

        @PostMapping("/drain")
        void drain() throws InterruptedException {
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread.getName().equals("SpringApplicationShutdownHook")) {
                    thread.join(5_000);
                }
            }
            LoggerFactory.getLogger(Open.class).error("the shop drains");
            Shop.gate.countDown();
        }
    }

    /** Has a parent without a web server. */
    static final class Nested {
        public static void main(String[] args) {
            new SpringApplicationBuilder(StandardEnvironment.class)
                    .web(WebApplicationType.NONE)
                    .child(Shop.class)
                    .web(WebApplicationType.SERVLET)
                    .run();
        }
    }

    private static Worker worker(TestPort port, String id, SpringBootHandler handler) throws Exception {
        WorkerConfig config = WorkerConfig.builder(
                        "shop", new Credential.Secret(TestPort.SECRET), List.of(port.dispatcher.workerAddress()))
                .workerId(id)
                .build();
        return new Worker(config, handler).start().ready().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    @Test
    void should_start_the_application_once_and_serve_all_workers_with_it() throws Exception {
        SpringBootHandler handler = new SpringBootHandler(Shop.class.getName());
        try (TestPort port = new TestPort()) {
            for (String id : List.of("first", "second")) {
                Worker worker = worker(port, id, handler);
                assertThat(client.send(port.request("/hello").build(), BodyHandlers.discarding())
                                .statusCode())
                        .isEqualTo(200);
                assertThat(client.send(
                                        port.request("/echo")
                                                .header("content-type", "application/octet-stream")
                                                .POST(BodyPublishers.ofString(id))
                                                .build(),
                                        BodyHandlers.ofString())
                                .body())
                        .isEqualTo(id);
                worker.close();
            }
            assertThat(handler.application().getEnvironment().getProperty("server.address"))
                    .isEqualTo("127.0.0.1");
        } finally {
            handler.stop();
        }
        assertThat(handler.application().isActive()).isFalse();
    }

    /** A second worker would compete for requests. Here, it could not even start. */
    @ParameterizedTest
    @ValueSource(classes = {Addressed.class, Launched.class})
    void should_start_no_second_worker(Class<?> main) throws Exception {
        SpringBootHandler handler = new SpringBootHandler(main.getName());
        try {
            handler.start().toCompletableFuture().get(60, TimeUnit.SECONDS);
            assertThat(handler.application().getBeansOfType(WorkerLifecycle.class))
                    .isEmpty();
        } finally {
            handler.stop();
        }
    }

    /**
     * Stops and starts the application as CRaC does around a snapshot. Its web server then listens
     * on another port.
     */
    @Test
    void should_follow_a_web_server_that_starts_again() throws Exception {
        SpringBootHandler handler = new SpringBootHandler(Shop.class.getName());
        try (TestPort port = new TestPort()) {
            handler.start().toCompletableFuture().get(60, TimeUnit.SECONDS);
            ConfigurableApplicationContext application = handler.application();
            application.stop();
            application.start();
            Worker worker = worker(port, "restored", handler);
            assertThat(client.send(port.request("/hello").build(), BodyHandlers.discarding())
                            .statusCode())
                    .isEqualTo(200);
            worker.close();
        } finally {
            handler.stop();
        }
    }

    @Test
    void should_stop_the_parents_of_the_application_too() throws Exception {
        SpringBootHandler handler = new SpringBootHandler(Nested.class.getName());
        handler.start().toCompletableFuture().get(60, TimeUnit.SECONDS);
        ConfigurableApplicationContext parent =
                (ConfigurableApplicationContext) handler.application().getParent();
        assertThat(parent.isActive()).isTrue();
        handler.stop();
        assertThat(handler.application().isActive()).isFalse();
        assertThat(parent.isActive()).isFalse();
    }

    /** Spring's own shutdown hook would close the application and its log meanwhile. */
    @Test
    void should_keep_the_application_until_the_worker_has_drained(@TempDir Path directory) throws Exception {
        Path output = directory.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        WorkerMain.class.getName())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        try (TestPort port = new TestPort()) {
            builder.environment()
                    .putAll(Map.of(
                            "LAMBDA_DISPATCHER_ADDRESSES",
                            port.workerAddress(),
                            "LAMBDA_DISPATCHER_FUNCTION",
                            "shop",
                            "LAMBDA_DISPATCHER_SECRET",
                            TestPort.SECRET,
                            "LAMBDA_DISPATCHER_HANDLER",
                            SpringBootHandler.class.getName(),
                            "LAMBDA_DISPATCHER_EXIT_WITH_PARENT",
                            "stdin",
                            "LAMBDA_DISPATCHER_WEB_DRAIN_PATH",
                            "/drain",
                            "MAIN_CLASS",
                            Open.class.getName(),
                            // The application may ask for what would disturb the drain.
                            "SPRING_MAIN_REGISTER_SHUTDOWN_HOOK",
                            "true"));
            Process process = builder.start();
            try {
                port.awaitWorkers(1);
                HttpResponse<Stream<String>> sales =
                        client.send(port.request("/sales").build(), BodyHandlers.ofLines());
                Iterator<String> events = sales.body().iterator();
                assertThat(events.next()).isEqualTo("data:first");
                process.destroy();
                assertThat(events.next()).isEmpty();
                assertThat(events.next()).isEqualTo("data:second");
                assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(output).content().contains("the shop drains").doesNotContain("Exception");
                assertThat(process.exitValue()).isZero();
            } finally {
                process.destroyForcibly();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "no.such.Class", "java.lang.String"})
    void should_say_which_class_it_expects(String name) {
        assertThatThrownBy(() -> new SpringBootHandler(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("MAIN_CLASS is " + (name.isEmpty() ? "not set" : name)
                        + ", expected a class on the class path that has a method static void main(String[])");
    }

    @Test
    void should_say_why_the_application_does_not_start() {
        assertThatThrownBy(() -> start(Nothing.class))
                .isInstanceOf(ExecutionException.class)
                .hasMessageContaining("Nothing.main has returned, expected it to start a web application");
        assertThatThrownBy(() -> start(Broken.class)).hasRootCauseMessage("broken by the test");
    }

    @Test
    void should_fail_with_an_application_that_fails_silently() {
        assertThatThrownBy(() -> start(Silent.class)).hasRootCauseMessage("no database");
    }

    @Test
    void should_not_start_an_application_after_it_was_stopped() throws Exception {
        SpringBootHandler handler = new SpringBootHandler(Slow.class.getName());
        handler.start();
        assertThat(Slow.STARTING.await(60, TimeUnit.SECONDS)).isTrue();
        handler.stop();
        Slow.MAY_START.countDown();
        assertThat(Slow.FAILURE.get(60, TimeUnit.SECONDS))
                .hasRootCauseMessage("the application was stopped while it started");
        assertThat(handler.application().isActive()).isFalse();
    }

    private static void start(Class<?> main) throws Exception {
        new SpringBootHandler(main.getName()).start().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }
}
