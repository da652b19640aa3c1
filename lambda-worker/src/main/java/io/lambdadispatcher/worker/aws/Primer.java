package io.lambdadispatcher.worker.aws;

import java.net.URI;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpClient;
import software.amazon.awssdk.http.async.SdkAsyncHttpResponseHandler;
import software.amazon.awssdk.http.async.SdkHttpContentPublisher;

/**
 * Opens connections before they are needed: it sends a GET request of {@code /} on each of them
 * concurrently. The requests are not signed; any response leaves an open connection. A failure is
 * only logged at DEBUG, because the first real request opens a connection itself.
 *
 * @param connections how many to open
 */
record Primer(URI endpoint, int connections) {
    private static final Logger log = LoggerFactory.getLogger(Primer.class);

    /** @return completes when all responses have arrived or failed. Never fails */
    CompletableFuture<Void> run(SdkAsyncHttpClient client) {
        return CompletableFuture.allOf(IntStream.range(0, connections)
                .mapToObj(i -> client.execute(request()).exceptionally(this::report))
                .toArray(CompletableFuture<?>[]::new));
    }

    private Void report(Throwable error) {
        log.debug("{} could not be dialled ahead", endpoint, error);
        return null;
    }

    private AsyncExecuteRequest request() {
        SdkHttpRequest get = SdkHttpRequest.builder()
                .method(SdkHttpMethod.GET)
                .uri(endpoint.resolve("/"))
                .putHeader("Host", endpoint.getRawAuthority())
                .build();
        return AsyncExecuteRequest.builder()
                .request(get)
                .requestContentPublisher(new Nothing())
                .responseHandler(new Dropping())
                .build();
    }

    static final class Nothing implements SdkHttpContentPublisher {
        @Override
        public Optional<Long> contentLength() {
            return Optional.of(0L);
        }

        @Override
        public void subscribe(Subscriber<? super ByteBuffer> to) {
            to.onSubscribe(new Subscription() {
                private boolean ended;

                @Override
                public void request(long parts) {
                    if (!ended) {
                        ended = true;
                        to.onComplete();
                    }
                }

                @Override
                public void cancel() {
                    ended = true;
                }
            });
        }
    }

    private static final class Dropping implements SdkAsyncHttpResponseHandler, Subscriber<ByteBuffer> {
        @Override
        public void onHeaders(SdkHttpResponse head) {}

        @Override
        public void onStream(Publisher<ByteBuffer> body) {
            body.subscribe(this);
        }

        @Override
        public void onSubscribe(Subscription body) {
            body.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(ByteBuffer bytes) {}

        @Override
        public void onComplete() {}

        @Override
        public void onError(Throwable error) {}
    }
}
