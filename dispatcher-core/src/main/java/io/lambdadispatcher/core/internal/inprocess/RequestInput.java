package io.lambdadispatcher.core.internal.inprocess;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A request's body. The event loop adds bytes, and the handler's thread takes them. The client's
 * window limits what waits here, because bytes count in it until they are taken.
 */
final class RequestInput extends InputStream {
    /** The client learns of bytes that were read when they are so many, or when none is left. */
    private static final int TOLD_BYTES = 16 * 1024;

    private final IntConsumer onTaken;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final BodyParts parts = new BodyParts();

    private int untoldBytes;
    private boolean ended;
    private boolean closed;
    private boolean cancelled;
    private Http2Headers trailers = EmptyHttp2Headers.INSTANCE;

    /** @param onTaken is told how many bytes the client may send again. Any thread */
    RequestInput(IntConsumer onTaken) {
        this.onTaken = onTaken;
    }

    // Event loop.

    /** @param data owned by this method */
    void add(ByteBuf data) {
        int dropped = 0;
        lock.lock();
        try {
            if (closed) {
                dropped = data.readableBytes();
                data.release();
            } else {
                parts.add(data);
                changed.signal();
            }
        } finally {
            lock.unlock();
        }
        if (dropped > 0) {
            onTaken.accept(dropped);
        }
    }

    void end(Http2Headers fields) {
        lock.lock();
        try {
            trailers = fields;
            ended = true;
            changed.signal();
        } finally {
            lock.unlock();
        }
    }

    void cancel() {
        lock.lock();
        try {
            cancelled = true;
            changed.signal();
        } finally {
            lock.unlock();
        }
    }

    // The handler's thread.

    Http2Headers trailers() {
        lock.lock();
        try {
            return ended && parts.isEmpty() ? trailers : EmptyHttp2Headers.INSTANCE;
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
        int bytes;
        int told;
        lock.lock();
        try {
            ByteBuf first = awaitFirst();
            if (first == null) {
                return -1;
            }
            bytes = Math.min(length, first.readableBytes());
            first.readBytes(into, offset, bytes);
            if (!first.isReadable()) {
                parts.poll();
                first.release();
            }
            told = toTell(bytes);
        } finally {
            lock.unlock();
        }
        if (told > 0) {
            onTaken.accept(told);
        }
        return bytes;
    }

    private int toTell(int bytes) {
        untoldBytes += bytes;
        int told = parts.isEmpty() || untoldBytes >= TOLD_BYTES ? untoldBytes : 0;
        untoldBytes -= told;
        return told;
    }

    /** Returns {@code null} at the end. The caller holds the lock. */
    private @Nullable ByteBuf awaitFirst() throws IOException {
        try {
            while (parts.isEmpty() && !ended && !cancelled && !closed) {
                changed.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the request's body was awaited");
        }
        if (closed) {
            throw new IOException("the request's body has been closed");
        }
        if (cancelled) {
            throw new IOException("the request was cancelled");
        }
        return parts.first();
    }

    @Override
    public int available() {
        lock.lock();
        try {
            return parts.bytes();
        } finally {
            lock.unlock();
        }
    }

    /** Drops the bytes that are held. The rest of the request is dropped when it arrives. */
    @Override
    public void close() {
        int dropped;
        lock.lock();
        try {
            closed = true;
            dropped = untoldBytes + parts.drop();
            untoldBytes = 0;
        } finally {
            lock.unlock();
        }
        if (dropped > 0) {
            onTaken.accept(dropped);
        }
    }
}
