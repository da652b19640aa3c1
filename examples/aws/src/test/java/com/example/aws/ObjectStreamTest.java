package com.example.aws;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.CharsetUtil;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.core.async.ResponsePublisher;
import software.amazon.awssdk.core.async.SdkPublisher;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

class ObjectStreamTest {
    private final Asked request = new Asked();
    private final Answered response = new Answered();
    private final Source source = new Source();
    private final ObjectStream stream = new ObjectStream(request, response);

    private void start() {
        GetObjectResponse about = GetObjectResponse.builder()
                .contentType("text/plain")
                .contentLength(6L)
                .build();
        stream.start(new ResponsePublisher<>(about, SdkPublisher.adapt(source)));
    }

    private void part(String text) {
        source.asked--;
        stream.onNext(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void should_ask_for_one_part_at_a_time_and_end_with_the_object() {
        start();
        assertThat(source.asked).isOne();
        part("abc");
        assertThat(source.asked).isOne();
        part("def");
        stream.onComplete();

        assertThat(response.text).hasToString("200 text/plain 6: abcdef end");
    }

    @Test
    void should_ask_for_nothing_while_the_response_takes_nothing() {
        start();
        response.writable = false;
        part("abc");
        assertThat(source.asked).isZero();

        response.writable = true;
        response.writableListener.run();
        assertThat(source.asked).isOne();
    }

    @Test
    void should_not_ask_twice_when_the_response_becomes_writable_again_with_a_part_under_way() {
        start();
        response.writableListener.run();

        assertThat(source.asked).isOne();
    }

    @Test
    void should_not_read_on_when_nobody_wants_the_response() {
        start();
        request.cancel();

        assertThat(source.cancelled).isTrue();
    }

    @Test
    void should_not_read_an_object_that_comes_after_the_cancellation() {
        request.cancel();
        start();

        assertThat(source.cancelled).isTrue();
    }

    @Test
    void should_break_the_response_off_with_the_object() {
        start();
        part("abc");
        stream.onError(new IOException("connection reset"));

        assertThat(response.text).hasToString("200 text/plain 6: abc HANDLER_FAILED");
    }

    private static final class Source implements org.reactivestreams.Publisher<ByteBuffer>, Subscription {
        long asked;
        boolean cancelled;

        @Override
        public void subscribe(Subscriber<? super ByteBuffer> subscriber) {
            subscriber.onSubscribe(this);
        }

        @Override
        public void request(long parts) {
            asked += parts;
        }

        @Override
        public void cancel() {
            cancelled = true;
        }
    }

    private static final class Asked implements Request {
        private @Nullable Consumer<FailureReason> cancelListener;
        private @Nullable FailureReason cancellation;

        void cancel() {
            cancellation = FailureReason.CANCELLED;
            if (cancelListener != null) {
                cancelListener.accept(cancellation);
            }
        }

        @Override
        public void onDrain(Consumer<Duration> listener) {}

        @Override
        public void onCancel(Consumer<FailureReason> listener) {
            cancelListener = listener;
        }

        @Override
        public @Nullable FailureReason cancellation() {
            return cancellation;
        }

        @Override
        public Http2Headers headers() {
            return new DefaultHttp2Headers();
        }

        @Override
        public RequestBody body() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Optional<Duration> remaining() {
            return Optional.empty();
        }

        @Override
        public ScheduledExecutorService eventLoop() {
            throw new UnsupportedOperationException();
        }
    }

    /** Records the response as text. */
    private static final class Answered implements Response {
        final StringBuilder text = new StringBuilder();
        boolean writable = true;
        Runnable writableListener = () -> {};

        @Override
        public void head(Http2Headers head) {
            text.append(head.status()).append(' ').append(head.get("content-type"));
            text.append(' ').append(head.get("content-length")).append(": ");
        }

        @Override
        public boolean write(ByteBuf part) {
            text.append(part.toString(CharsetUtil.UTF_8));
            part.release();
            return writable;
        }

        @Override
        public boolean isWritable() {
            return writable;
        }

        @Override
        public void onWritable(Runnable listener) {
            writableListener = listener;
        }

        @Override
        public void end() {
            text.append(" end");
        }

        @Override
        public void fail(FailureReason code, String reason) {
            text.append(' ').append(code);
        }

        @Override
        public void interim(Http2Headers head) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void end(Http2Headers trailers) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void respond(Http2Headers head, ByteBuf body) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void respond(Http2Headers head) {
            throw new UnsupportedOperationException();
        }
    }
}
