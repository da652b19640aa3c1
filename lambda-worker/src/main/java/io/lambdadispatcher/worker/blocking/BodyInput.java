package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A request's body. The event loop adds bytes, and the handler's thread takes them. If it holds
 * more than {@link #HIGH_BYTES}, the request is paused, so that flow control stops the sender.
 */
final class BodyInput extends InputStream implements BodyReader {
    static final int HIGH_BYTES = 64 * 1024;
    private static final int LOW_BYTES = 16 * 1024;

    private final RequestBody from;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<ByteBuf> queue = new ArrayDeque<>();

    private int queuedBytes;
    private boolean paused;
    private boolean ended;
    private boolean closed;
    private @Nullable FailureReason failure;
    private Http2Headers trailers = EmptyHttp2Headers.INSTANCE;

    BodyInput(RequestBody from) {
        this.from = from;
    }

    @Override
    public void onData(ByteBuf data) {
        lock.lock();
        try {
            if (closed) {
                data.release();
                return;
            }
            queue.add(data);
            queuedBytes += data.readableBytes();
            if (queuedBytes > HIGH_BYTES && !paused) {
                paused = true;
                from.pause();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onEnd(Http2Headers fields) {
        lock.lock();
        try {
            trailers = fields;
            ended = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onFailed(FailureReason code) {
        lock.lock();
        try {
            failure = code;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    Http2Headers trailers() {
        lock.lock();
        try {
            return ended && queue.isEmpty() ? trailers : EmptyHttp2Headers.INSTANCE;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, into.length);
        if (length == 0) {
            return 0;
        }
        lock.lock();
        try {
            ByteBuf first = awaitFirst();
            if (first == null) {
                return -1;
            }
            int bytes = Math.min(length, first.readableBytes());
            first.readBytes(into, offset, bytes);
            if (!first.isReadable()) {
                queue.remove().release();
            }
            onTaken(bytes);
            return bytes;
        } finally {
            lock.unlock();
        }
    }

    /** Passes buffers by reference if {@code out} is the body of a response. */
    @Override
    public long transferTo(OutputStream out) throws IOException {
        if (!(out instanceof BodyOutput body)) {
            return super.transferTo(out);
        }
        long bytes = 0;
        for (ByteBuf next = takeFirst(); next != null; next = takeFirst()) {
            bytes += next.readableBytes();
            body.pass(next);
        }
        return bytes;
    }

    private @Nullable ByteBuf takeFirst() throws IOException {
        lock.lock();
        try {
            ByteBuf first = awaitFirst();
            if (first != null) {
                queue.remove();
                onTaken(first.readableBytes());
            }
            return first;
        } finally {
            lock.unlock();
        }
    }

    /** Returns {@code null} at the end. The caller holds the lock. */
    private @Nullable ByteBuf awaitFirst() throws IOException {
        try {
            while (queue.isEmpty() && !ended && failure == null && !closed) {
                changed.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the request's body was awaited");
        }
        if (closed) {
            throw new IOException("the request's body has been closed");
        }
        if (queue.isEmpty() && failure != null) {
            throw new IOException("the request's body broke off: " + failure);
        }
        return queue.peek();
    }

    private void onTaken(int bytes) {
        queuedBytes -= bytes;
        if (paused && queuedBytes <= LOW_BYTES) {
            paused = false;
            from.resume();
        }
    }

    @Override
    public int available() {
        lock.lock();
        try {
            return queuedBytes;
        } finally {
            lock.unlock();
        }
    }

    /** Drops the bytes that are held. The rest of the request is dropped when it arrives. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            queue.forEach(ByteBuf::release);
            queue.clear();
            queuedBytes = 0;
            if (paused) {
                paused = false;
                from.resume();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
