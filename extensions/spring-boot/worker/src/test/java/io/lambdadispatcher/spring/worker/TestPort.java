package io.lambdadispatcher.spring.worker;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;

/** A dispatcher that workers dial and clients ask, in this JVM. */
final class TestPort implements AutoCloseable {
    static final String SECRET = "a secret for tests only";

    final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("shop")
                    .queue(1000, Duration.ofSeconds(60))
                    .build())
            .publicListener(ListenerOptions.plain("127.0.0.1", 0))
            .workerListener(ListenerOptions.workers("127.0.0.1", 0))
            .eventLoops(1)
            .secret(SECRET)
            .start();

    String workerAddress() {
        return "127.0.0.1:" + dispatcher.workerAddress().getPort();
    }

    HttpRequest.Builder request(String path) {
        int port = dispatcher.publicAddresses().get(0).getPort();
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(60));
    }

    void awaitWorkers(int count) {
        Await.until(count + " are ready", () -> dispatcher.pools().get(0).readyWorkers() == count);
    }

    @Override
    public void close() {
        dispatcher.close(Duration.ofSeconds(5)).toCompletableFuture().join();
    }
}
