package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.lambdadispatcher.test.TestDispatcher;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Runs the examples of the README and of docs/guides/embedding.md. Code between tags must be equal
 * to the code on the page.
 */
class EmbeddingExampleIT {
    private static final String SECRET = "sixteen bytes at least";

    @Test
    void should_serve_requests_of_the_embedding_program() throws Exception {
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("greeter"))
                .workerListener(ListenerOptions.workers("127.0.0.1", 0)) // where workers dial in
                .secret(SECRET) // authenticates workers
                .start();

        Handler handler = (request, response) -> response.respond(200, "hello from " + request.path());
        Worker worker = new Worker(WorkerConfig.of("greeter", SECRET, dispatcher.workerAddress()), handler)
                .start(); // in real life in another process, or in a Lambda

        DispatchResponse response = dispatcher
                .dispatch(DispatchRequest.get("/world").build())
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
        String text = response.bodyAsString().toCompletableFuture().get(10, TimeUnit.SECONDS);

        assertThat(response.status()).isEqualTo(200);
        assertThat(text).isEqualTo("hello from /world");
        worker.close();
        dispatcher.close();
    }

    @Test
    void should_serve_channels_of_the_embedding_program() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
        try (Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("greeter"))
                .workerListener(ListenerOptions.workers("127.0.0.1", 0))
                .secret(SECRET)
                .eventLoopGroup(loops)
                .start()) {
            Worker worker = new Worker(
                            WorkerConfig.of("greeter", SECRET, dispatcher.workerAddress()), (request, response) -> {
                                response.head(204);
                                response.end();
                            })
                    .start();
            Channel port = new ServerBootstrap()
                    .group(loops)
                    .channel(NioServerSocketChannel.class)
                    .childHandler(dispatcher.clientHandler(false))
                    .bind("127.0.0.1", 0)
                    .sync()
                    .channel();
            int number = ((InetSocketAddress) port.localAddress()).getPort();
            HttpResponse<Void> response = HttpClient.newHttpClient()
                    .send(
                            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + number + "/"))
                                    .timeout(Duration.ofSeconds(60))
                                    .build(),
                            HttpResponse.BodyHandlers.discarding());
            assertThat(response.statusCode()).isEqualTo(204);
            assertThat(response.version()).isEqualTo(HttpClient.Version.HTTP_1_1);
            try (Http2Connection connection = Http2Connection.to(number)) {
                Http2Headers head = new DefaultHttp2Headers()
                        .method("GET")
                        .scheme("http")
                        .authority("127.0.0.1")
                        .path("/");
                assertThat(connection.open(head, true).status()).isEqualTo("204");
            }
            worker.drain(DrainReason.REQUESTED);
            worker.done().toCompletableFuture().get(60, TimeUnit.SECONDS);
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    @Test
    void should_run_what_the_embedding_page_shows() throws Exception {
        MeterRegistry registry = new SimpleMeterRegistry();
        // tag::metrics
        DispatcherMetrics metrics = new DispatcherMetrics(registry);
        Dispatcher dispatcher = Dispatcher.builder()
                .observer(metrics) /* and so on */
                // end::metrics
                .function(FunctionOptions.of("hello"))
                .workerListener(ListenerOptions.workers("127.0.0.1", 0))
                .secret(SECRET)
                .start();
        metrics.watch(dispatcher);
        WorkerConfig config = WorkerConfig.of("hello", SECRET, dispatcher.workerAddress());
        Handler handler = (request, response) -> request.body()
                .readAll(1000, body -> response.respond(200, request.header("Content-Type") + " " + body.length));
        try (Worker worker = new Worker(config, handler).start()) {
            worker.ready().toCompletableFuture().get(60, TimeUnit.SECONDS);
            // tag::dispatch
            DispatchRequest request = DispatchRequest.post("/orders")
                    .header("content-type", "application/json")
                    .body("{}")
                    .client("tenant-7") // for fairness between clients
                    .build();
            CompletionStage<String> answer = dispatcher.dispatch(request).thenCompose(DispatchResponse::bodyAsString);
            // end::dispatch
            assertThat(answer.toCompletableFuture().get(60, TimeUnit.SECONDS)).isEqualTo("application/json 2");
            assertThat(registry.get("lambda.dispatcher.workers").gauge().value())
                    .isEqualTo(1);
        }
        dispatcher.close();
        assertThat(registry.get("lambda.dispatcher.requests").counter().count()).isEqualTo(1);
        assertThat(dispatcher.isReady()).isFalse();
    }

    @Test
    void should_run_the_orders_of_the_embedding_page() throws Exception {
        try (TestDispatcher dispatcher = TestDispatcher.serving(new Orders())) {
            ErrorTracker.reports.clear();
            int status = HttpClient.newHttpClient()
                    .send(
                            HttpRequest.newBuilder(dispatcher.uri("/orders"))
                                    .header("x-request-id", "r-1")
                                    .build(),
                            HttpResponse.BodyHandlers.discarding())
                    .statusCode();
            assertThat(status).isEqualTo(500);
            assertThat(ErrorTracker.reports.poll(10, TimeUnit.SECONDS)).isEqualTo("sold out of r-1");
        }
    }

    /** Is only compiled, because it would call AWS. */
    static Dispatcher launching() {
        // tag::launching
        WorkerLauncher launcher =
                LambdaLauncher.builder().function("hello", "hello:live").build();
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.builder("hello")
                        .capacity(CapacityPolicy.between(1, 20))
                        .build())
                .launcher(launcher) // closed with the dispatcher
                /* listeners, secret and so on */
                .start();
        // end::launching
        return dispatcher;
    }

    @Test
    void should_be_what_the_embedding_page_shows() throws Exception {
        Path top = Path.of("").toAbsolutePath().getParent();
        String page = Files.readString(top.resolve("docs/guides/embedding.md"));
        String source =
                Files.readString(top.resolve("it/src/test/java/io/lambdadispatcher/it/EmbeddingExampleIT.java"));
        for (String file : List.of("pom.xml", "src/main/java/com/example/Hello.java")) {
            assertThat(blocks(page)).contains(unindented(Files.readString(top.resolve("it/consumers/plain/" + file))));
        }
        String orders = Files.readString(top.resolve("it/src/test/java/io/lambdadispatcher/it/Orders.java"));
        assertThat(blocks(page)).contains(unindented(tagged(orders, "orders") + " // ... } }"));
        String inProcess = Files.readString(top.resolve("it/src/test/java/io/lambdadispatcher/it/InProcessIT.java"));
        assertThat(blocks(page)).contains(unindented(tagged(inProcess, "in-process")));
        for (String tag : List.of("dispatch", "launching")) {
            assertThat(blocks(page)).as(tag).contains(unindented(tagged(source, tag)));
        }
    }

    /** Ignores differences of white space, because the page has shorter lines. */
    private static List<String> blocks(String page) {
        return Pattern.compile("(?s)```\\w[^\n]*\n(.*?)```")
                .matcher(page)
                .results()
                .map(block -> unindented(block.group(1)))
                .toList();
    }

    private static String unindented(String text) {
        return text.replaceAll("\\s+", " ").strip();
    }

    private static String tagged(String source, String tag) {
        int begin = source.indexOf("tag::" + tag);
        int end = source.indexOf("end::" + tag);
        String lines = source.substring(source.indexOf('\n', begin) + 1, source.lastIndexOf('\n', end));
        return lines;
    }

    @Test
    void should_be_what_the_readme_shows() throws Exception {
        Path top = Path.of("").toAbsolutePath().getParent();
        List<String> shown = blocks(Files.readString(top.resolve("README.md")));
        assertThat(shown).hasSize(4);
        assertThat(unindented(Files.readString(top.resolve("it/consumers/plain/pom.xml"))))
                .contains(shown.get(2));
        assertThat(unindented(Files.readString(top.resolve("it/consumers/plain/src/main/java/com/example/Hello.java"))))
                .contains(shown.get(3));
    }
}
