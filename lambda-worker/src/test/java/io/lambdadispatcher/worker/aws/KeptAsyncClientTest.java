package io.lambdadispatcher.worker.aws;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.async.SdkAsyncHttpResponseHandler;

/** Checks that a generation can end however its requests end, so that none is kept forever. */
@EachRelease
@Timeout(180)
class KeptAsyncClientTest {
    private final ImpatientServer server = new ImpatientServer();
    private final ManualFreezeClocks clocks = new ManualFreezeClocks();
    private final BlockingQueue<Runnable> closes = new LinkedBlockingQueue<>();
    private final NettyClients netty = new NettyClients(Duration.ofSeconds(5), UnaryOperator.identity());
    private final Generations<SdkAsyncHttpClient> generations =
            new Generations<>(netty::make, () -> 5, clocks, 5000, closes::add);
    private final KeptAsyncClient client = new KeptAsyncClient(generations);

    KeptAsyncClientTest() throws Exception {}

    @AfterEach
    void close() throws Exception {
        generations.closeAll();
        netty.detachLoops().run();
        server.close();
    }

    /** Requests nothing of the body, or cancels it. */
    private static final class Reader implements SdkAsyncHttpResponseHandler, Subscriber<ByteBuffer> {
        final CompletableFuture<Subscription> body = new CompletableFuture<>();

        @Override
        public void onHeaders(SdkHttpResponse head) {}

        @Override
        public void onStream(Publisher<ByteBuffer> stream) {
            stream.subscribe(this);
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            body.complete(subscription);
        }

        @Override
        public void onNext(ByteBuffer bytes) {}

        @Override
        public void onComplete() {}

        @Override
        public void onError(Throwable error) {}
    }

    private CompletableFuture<Void> execute(Reader reader) {
        return execute(reader, server.endpoint());
    }

    private CompletableFuture<Void> execute(Reader reader, URI endpoint) {
        SdkHttpRequest get = SdkHttpRequest.builder()
                .method(SdkHttpMethod.GET)
                .uri(endpoint.resolve("/"))
                .putHeader("Host", "localhost")
                .build();
        return client.execute(AsyncExecuteRequest.builder()
                .request(get)
                .requestContentPublisher(new Primer.Nothing())
                .responseHandler(reader)
                .build());
    }

    private void awaitEndOfGeneration() throws InterruptedException {
        clocks.freeze(60_000);
        generations.lease().end();
        Runnable close = closes.poll(20, TimeUnit.SECONDS);
        assertThat(close).as("close of the old generation").isNotNull();
        close.run();
    }

    @Test
    void should_end_a_generation_whose_response_was_not_read_to_its_end() throws Exception {
        Reader reader = new Reader();
        execute(reader);
        reader.body.get(20, TimeUnit.SECONDS).cancel();
        awaitEndOfGeneration();
    }

    @Test
    void should_end_a_generation_whose_request_was_cancelled() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        server.hold(never);
        CompletableFuture<Void> done = execute(new Reader());
        server.awaitOpen(1);
        done.cancel(true);
        awaitEndOfGeneration();
        // If the request was sent, its connection's thread waits here and does not notice the end.
        never.countDown();
        server.awaitOpen(0);
    }

    @Test
    void should_end_a_generation_whose_request_failed() throws Exception {
        // Bound, but not listening: connections are refused, and no other process can listen there.
        try (Socket refusing = new Socket()) {
            refusing.bind(new InetSocketAddress("127.0.0.1", 0));
            URI endpoint = URI.create("http://127.0.0.1:" + refusing.getLocalPort());
            assertThat(execute(new Reader(), endpoint)
                            .handle((done, error) -> error)
                            .get(20, TimeUnit.SECONDS))
                    .isNotNull();
        }
        awaitEndOfGeneration();
    }
}
