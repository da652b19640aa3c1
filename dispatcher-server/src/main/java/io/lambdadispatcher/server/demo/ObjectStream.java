package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
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
 * An object on its way from S3 into a response, by reference: the SDK gives each part an array of its own, which is never written again. A part is
 * asked for when the part before has been written and the response takes more, so that S3's connection waits while the client does. When nobody
 * wants the response any more, the object is not read on.
 *
 * <p>Made on the event loop of the request; the parts come on a thread of the SDK.
 */
final class ObjectStream implements Subscriber<ByteBuffer> {
    private static final AsciiString OCTETS = AsciiString.cached("application/octet-stream");
    private static final Logger log = LoggerFactory.getLogger(ObjectStream.class);

    private final Request request;
    private final Response response;
    /** A part has been asked for and has not come yet. */
    private final AtomicBoolean awaiting = new AtomicBoolean();

    private volatile @Nullable Subscription parts;

    ObjectStream(Request request, Response response) {
        this.request = request;
        this.response = response;
        request.onCancel(code -> stopIfCancelled());
        response.onWritable(this::askIfWritable);
    }

    /** Sends the head and then what comes. */
    void start(ResponsePublisher<GetObjectResponse> object) {
        GetObjectResponse about = object.response();
        response.head(head(about.contentType(), about.contentLength()));
        object.subscribe(this);
    }

    static Http2Headers head(@Nullable String type, long bytes) {
        return Answers.head(Answers.OK, type == null ? OCTETS : AsciiString.of(type))
                .setLong(HttpHeaderNames.CONTENT_LENGTH, bytes);
    }

    @Override
    public void onSubscribe(Subscription parts) {
        this.parts = parts;
        stopIfCancelled();
        askIfWritable();
    }

    /** From both threads: whichever comes second, the cancellation or the subscription, sees the other. */
    private void stopIfCancelled() {
        Subscription current = parts;
        if (current != null && request.cancellation() != null) {
            current.cancel();
        }
    }

    /** From both threads: the response may become writable just when the SDK's thread has found that it is not. */
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
            response.fail(ErrorCode.HANDLER_FAILED, "the object broke off: " + cause);
        }
    }
}
