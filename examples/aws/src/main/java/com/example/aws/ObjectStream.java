package com.example.aws;

import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.core.async.ResponsePublisher;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * Streams an object from S3 into a response. Parts are not copied, because the SDK never changes a
 * part's array. The next part is requested only when the previous one has been written and the
 * response is writable, so S3's connection waits for a slow client. A cancelled request stops
 * reading.
 *
 * <p><i>Threading:</i> created on the event loop of the request. The parts arrive on a thread of
 * the SDK.
 */
final class ObjectStream implements Subscriber<ByteBuffer> {
    private static final AsciiString BINARY = AsciiString.cached("application/octet-stream");
    private static final Logger log = LoggerFactory.getLogger(ObjectStream.class);

    private final Request request;
    private final Response response;
    /** A part has been requested and has not arrived yet. */
    private final AtomicBoolean awaiting = new AtomicBoolean();

    private volatile @Nullable Subscription parts;

    ObjectStream(Request request, Response response) {
        this.request = request;
        this.response = response;
        request.onCancel(code -> stopIfCancelled());
        response.onWritable(this::askIfWritable);
    }

    /** Sends the response headers, and the parts as they arrive. */
    void start(ResponsePublisher<GetObjectResponse> object) {
        GetObjectResponse about = object.response();
        response.head(head(about.contentType(), about.contentLength()));
        object.subscribe(this);
    }

    static Http2Headers head(@Nullable String type, long bytes) {
        return Answers.head(200, type == null ? BINARY : AsciiString.of(type), bytes);
    }

    @Override
    public void onSubscribe(Subscription parts) {
        this.parts = parts;
        stopIfCancelled();
        askIfWritable();
    }

    /**
     * Stops reading if the request is cancelled. Called on both threads, after the cancellation and
     * after the subscription. Whichever is second sees the other.
     */
    private void stopIfCancelled() {
        Subscription current = parts;
        if (current != null && request.cancellation() != null) {
            current.cancel();
        }
    }

    /**
     * Requests a part if the response is writable. Called on both threads, because the response may
     * become writable just after the SDK's thread has seen that it is not.
     */
    private void askIfWritable() {
        Subscription current = parts;
        if (current != null && response.isWritable() && awaiting.compareAndSet(false, true)) {
            current.request(1);
        }
    }

    @Override
    public void onNext(ByteBuffer part) {
        awaiting.set(false);
        response.write(Unpooled.wrappedBuffer(part));
        askIfWritable();
    }

    @Override
    public void onComplete() {
        response.end();
    }

    @Override
    public void onError(Throwable cause) {
        if (request.cancellation() == null) {
            log.warn("reading from S3 failed on {}", request, cause);
            response.fail(FailureReason.HANDLER_FAILED, "the object broke off: " + cause);
        }
    }
}
