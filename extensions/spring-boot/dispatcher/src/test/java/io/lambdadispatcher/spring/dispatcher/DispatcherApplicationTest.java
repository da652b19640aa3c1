package io.lambdadispatcher.spring.dispatcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** An application with the starter, and workers that dial in over HTTP/2. */
@EachRelease
class DispatcherApplicationTest {
    private static final String SECRET = "a secret for tests only";

    private final HttpClient client = HttpClient.newHttpClient();

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Edge {
        final Queue<String> seen = new ConcurrentLinkedQueue<>();

        @Bean
        RequestRouter router() {
            return head -> RouteTarget.of(head.path().toString().startsWith("/images") ? "images" : "shop");
        }

        @Bean
        FunctionOptions images() {
            return FunctionOptions.of("images");
        }

        @Bean
        DispatcherObserver seen() {
            return new DispatcherObserver() {
                @Override
                public ExchangeListener onExchangeStart(ExchangeStart start) {
                    return end -> seen.add("first " + end.function());
                }
            };
        }

        @Bean
        DispatcherObserver seenToo() {
            return new DispatcherObserver() {
                @Override
                public ExchangeListener onExchangeStart(ExchangeStart start) {
                    return end -> seen.add("second " + end.function());
                }
            };
        }
    }

    /** Serves its function itself, and needs the application's scheduler for that. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class InProcess {
        final CountDownLatch arrived = new CountDownLatch(1);
        final CountDownLatch gate = new CountDownLatch(1);

        @Bean
        ThreadPoolTaskScheduler scheduler() {
            return new ThreadPoolTaskScheduler();
        }

        @Bean
        DispatcherCustomizer inProcess(ThreadPoolTaskScheduler scheduler) {
            InProcessHandler handler = (request, response) -> {
                arrived.countDown();
                gate.await();
                response.respond(200, scheduler.submit(() -> "late").get());
            };
            return builder -> builder.inProcess("shop", handler, 10);
        }
    }

    private static ConfigurableApplicationContext run() {
        return run(Edge.class);
    }

    private static ConfigurableApplicationContext run(Class<?> configuration, String... more) {
        return new SpringApplicationBuilder(configuration)
                .properties(
                        "lambda-dispatcher.function.name=shop",
                        "lambda-dispatcher.public.plain.host=127.0.0.1",
                        "lambda-dispatcher.public.plain.port=0",
                        "lambda-dispatcher.workers.host=127.0.0.1",
                        "lambda-dispatcher.workers.port=0",
                        "lambda-dispatcher.workers.secret=" + SECRET)
                .properties(more)
                .run();
    }

    private static Worker worker(Dispatcher dispatcher, String function, BlockingHandler handler) {
        WorkerConfig config = WorkerConfig.builder(
                        function, new Credential.Secret(SECRET), List.of(dispatcher.workerAddress()))
                .workerId("worker of " + function)
                .build();
        return new Worker(config, handler.asHandler()).start();
    }

    private static HttpRequest get(Dispatcher dispatcher, String path) {
        int port = dispatcher.publicAddresses().get(0).getPort();
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .build();
    }

    @Test
    void should_route_observe_dispatch_and_be_up_with_workers() throws Exception {
        try (ConfigurableApplicationContext application = run()) {
            Dispatcher dispatcher = application.getBean(Dispatcher.class);
            Worker shop = worker(dispatcher, "shop", (request, response) -> response.respond(200, "shop"));
            Worker images = worker(dispatcher, "images", (request, response) -> response.respond(200, "images"));

            Await.until("it is ready", dispatcher::isReady);
            assertThat(application
                            .getBean("dispatcherHealthIndicator", HealthIndicator.class)
                            .health()
                            .getStatus())
                    .isEqualTo(Status.UP);
            HttpResponse<String> answer = client.send(get(dispatcher, "/images/1"), BodyHandlers.ofString());
            assertThat(answer.body()).isEqualTo("images");
            assertThat(dispatcher
                            .dispatch(DispatchRequest.get("/").build())
                            .thenCompose(DispatchResponse::bodyAsString)
                            .toCompletableFuture()
                            .get(60, TimeUnit.SECONDS))
                    .isEqualTo("shop");
            Queue<String> seen = application.getBean(Edge.class).seen;
            Await.until("all four are seen", () -> seen.size() == 4);
            assertThat(seen).containsExactly("first images", "second images", "first shop", "second shop");
            shop.close();
            images.close();
        }
    }

    @Test
    void should_finish_requests_in_flight_when_the_application_ends() throws Exception {
        ConfigurableApplicationContext application = run();
        Dispatcher dispatcher = application.getBean(Dispatcher.class);
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch answer = new CountDownLatch(1);
        Worker worker = worker(dispatcher, "shop", (request, response) -> {
            arrived.countDown();
            answer.await();
            response.respond(200, "late");
        });
        CompletableFuture<HttpResponse<String>> late = client.sendAsync(get(dispatcher, "/"), BodyHandlers.ofString());
        assertThat(arrived.await(60, TimeUnit.SECONDS)).isTrue();

        Thread end = new Thread(application::close);
        end.start();
        HttpClient other = HttpClient.newHttpClient();
        Await.until("it is not ready", () -> !dispatcher.isReady());
        end.join(300);
        assertThat(end.isAlive()).as("waits for the request").isTrue();
        assertThatThrownBy(() -> other.send(get(dispatcher, "/"), BodyHandlers.ofString()))
                .isInstanceOf(ConnectException.class);
        answer.countDown();
        assertThat(late.get(60, TimeUnit.SECONDS).body()).isEqualTo("late");
        end.join(60_000);
        assertThat(end.isAlive()).isFalse();
        worker.close();
    }

    @Test
    void should_keep_its_port_open_during_the_delay() throws Exception {
        ConfigurableApplicationContext application = run(Edge.class, "lambda-dispatcher.shutdown.delay=1h");
        Dispatcher dispatcher = application.getBean(Dispatcher.class);
        Worker shop = worker(dispatcher, "shop", (request, response) -> response.respond(200, "shop"));
        CountDownLatch refuses = new CountDownLatch(1);
        application.addApplicationListener((AvailabilityChangeEvent<?> event) -> refuses.countDown());
        Thread end = new Thread(application::close);
        end.start();
        assertThat(refuses.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(client.send(get(dispatcher, "/"), BodyHandlers.ofString()).body())
                .isEqualTo("shop");
        end.interrupt();
        end.join(60_000);
        assertThat(end.isAlive()).isFalse();
        shop.close();
    }

    /**
     * Schedulers take no more tasks when the application has begun to end. Contexts below the
     * application may end before.
     */
    @Test
    void should_finish_requests_in_process_with_the_help_of_the_whole_application() throws Exception {
        ConfigurableApplicationContext application = run(InProcess.class);
        Dispatcher dispatcher = application.getBean(Dispatcher.class);
        InProcess shop = application.getBean(InProcess.class);
        try (GenericApplicationContext below = new GenericApplicationContext(application)) {
            below.refresh();
        }
        CompletableFuture<HttpResponse<String>> late = client.sendAsync(get(dispatcher, "/"), BodyHandlers.ofString());
        assertThat(shop.arrived.await(60, TimeUnit.SECONDS)).isTrue();

        Thread end = new Thread(application::close);
        end.start();
        Await.until("it is not ready", () -> !dispatcher.isReady());
        shop.gate.countDown();
        assertThat(late.get(60, TimeUnit.SECONDS).body()).isEqualTo("late");
        end.join(60_000);
        assertThat(end.isAlive()).isFalse();
    }

    /** A controller may dispatch as long as it is called. */
    @Test
    void should_start_before_the_web_server_and_close_after_it() {
        assertThat(DispatcherLifecycle.PHASE).isLessThan(WebServerApplicationContext.START_STOP_LIFECYCLE_PHASE);
        List<Boolean> ready = new ArrayList<>();
        ConfigurableApplicationContext application = run();
        Dispatcher dispatcher = application.getBean(Dispatcher.class);
        Worker shop = worker(dispatcher, "shop", (request, response) -> response.respond(200, "shop"));
        Worker images = worker(dispatcher, "images", (request, response) -> response.respond(200, "images"));
        Await.until("it is ready", dispatcher::isReady);
        application.addApplicationListener((ContextClosedEvent event) -> ready.add(dispatcher.isReady()));
        application.close();
        assertThat(ready).containsExactly(true);
        shop.close();
        images.close();
    }
}
