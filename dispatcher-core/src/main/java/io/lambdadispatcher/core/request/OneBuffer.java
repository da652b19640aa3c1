package io.lambdadispatcher.core.request;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Publishes one buffer to one subscriber. */
final class OneBuffer implements Flow.Subscription {
    private final Flow.Subscriber<? super ByteBuf> to;
    private @Nullable ByteBuf left;

    OneBuffer(Flow.Subscriber<? super ByteBuf> to, ByteBuf buffer) {
        this.to = to;
        this.left = buffer;
    }

    @Override
    public synchronized void request(long n) {
        ByteBuf buffer = left;
        left = null;
        if (buffer != null) {
            to.onNext(buffer);
            to.onComplete();
        }
    }

    @Override
    public synchronized void cancel() {
        if (left != null) {
            left.release();
            left = null;
        }
    }
}
