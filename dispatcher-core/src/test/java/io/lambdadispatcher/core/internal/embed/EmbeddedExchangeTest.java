package io.lambdadispatcher.core.internal.embed;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Responses that are complete before the embedding program has read them. */
class EmbeddedExchangeTest {
    private static final Failure CLOSING = new Failure(Failure.Kind.SHUTTING_DOWN, "test");

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final DeadlineQueue<EmbeddedExchange> undelivered =
            new DeadlineQueue<>(channel.eventLoop(), 0, exchange -> {});
    private final ByteBuf first = Unpooled.buffer().writeByte('a');
    private final ByteBuf last = Unpooled.buffer().writeByte('b');
    private final StringBuilder log = new StringBuilder();
    private ResponseSink sink;

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private final class Subscriber implements Flow.Subscriber<ByteBuf> {
        private Flow.Subscription subscription;

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription = given;
        }

        @Override
        public void onNext(ByteBuf part) {
            log.append((char) part.readByte());
            part.release();
        }

        @Override
        public void onError(Throwable error) {
            log.append(error.getMessage());
        }

        @Override
        public void onComplete() {
            log.append('.');
        }
    }

    private CompletableFuture<DispatchResponse> start() {
        return EmbeddedExchange.start(
                        channel.eventLoop(),
                        (head, end, to) -> {
                            sink = to;
                            return new DiscardingSink();
                        },
                        DispatchRequest.builder("GET", "/").build(),
                        null,
                        Duration.ofSeconds(30),
                        undelivered)
                .toCompletableFuture();
    }

    private void respond() {
        sink.onHead(new DefaultHttp2Headers().status("200"), false);
        sink.onData(first, false);
        sink.onData(last, true);
    }

    /** Returns a complete response with two parts. */
    private DispatchResponse response() {
        CompletableFuture<DispatchResponse> response = start();
        respond();
        return response.join();
    }

    @Test
    void should_be_undelivered_until_the_subscriber_has_the_last_part() {
        DispatchResponse response = response();
        assertThat(undelivered.size()).isEqualTo(1);

        Subscriber subscriber = new Subscriber();
        response.body().subscribe(subscriber);
        subscriber.subscription.request(1);
        assertThat(undelivered.size()).isEqualTo(1);

        subscriber.subscription.request(1);
        assertThat(log).hasToString("ab.");
        assertThat(undelivered.size()).isZero();
    }

    @Test
    void should_not_be_undelivered_if_the_subscriber_takes_each_part() {
        start().thenAccept(DispatchResponse::bodyAsBytes);
        respond();

        assertThat(undelivered.size()).isZero();
    }

    @Test
    void should_not_be_undelivered_any_more_if_nobody_wants_the_rest() {
        response().discard();

        assertThat(undelivered.size()).isZero();
        assertThat(last.refCnt()).isZero();
    }

    @Test
    void should_fail_the_subscriber_of_what_is_undelivered_and_release_it() {
        Subscriber subscriber = new Subscriber();
        response().body().subscribe(subscriber);
        subscriber.subscription.request(1);

        undelivered.poll().failUndelivered(CLOSING);

        assertThat(log).hasToString("a" + EmbeddedExchange.exception(CLOSING).getMessage());
        assertThat(last.refCnt()).isZero();
        assertThat(undelivered.size()).isZero();
    }

    @Test
    void should_fail_a_subscriber_that_comes_after_the_failure() {
        DispatchResponse response = response();
        undelivered.poll().failUndelivered(CLOSING);
        assertThat(first.refCnt()).isZero();
        assertThat(last.refCnt()).isZero();

        response.body().subscribe(new Subscriber());

        assertThat(log).hasToString(EmbeddedExchange.exception(CLOSING).getMessage());
    }
}
