package io.lambdadispatcher.wire.blocking;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A request's body. The event loop adds bytes, and the handler's thread takes them. Subclasses
 * limit how many bytes are held. Their methods are called with a lock, which orders the calls.
 */
public abstract class BlockingInput extends InputStream {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<ByteBuf> held = new ArrayDeque<>();

    private int heldBytes;
    private boolean ended;
    private boolean closed;
    private @Nullable String failure;
    private Http2Headers trailers = EmptyHttp2Headers.INSTANCE;

    /**
     * Joins bytes with those that are held last.
     *
     * @param first whether nothing is held
     * @return the buffer to hold behind the others; {@code null} = {@code data} has been added to
     *     the last one
     */
    protected @Nullable ByteBuf join(ByteBuf data, boolean first) {
        return data;
    }

    /** Bytes have arrived, and wait for the handler. */
    protected void onHeld(int allHeldBytes) {}

    /** The handler has taken bytes, or they were dropped. */
    protected abstract void onTaken(int bytes, int leftBytes);

    // Event loop.

    /** @param data owned by this method */
    public final void add(ByteBuf data) {
        int bytes = data.readableBytes();
        lock.lock();
        try {
            if (closed) {
                data.release();
                onTaken(bytes, 0);
                return;
            }
            ByteBuf next = join(data, held.isEmpty());
            if (next != null) {
                held.add(next);
            }
            heldBytes += bytes;
            onHeld(heldBytes);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    public final void end(Http2Headers fields) {
        lock.lock();
        try {
            trailers = fields;
            ended = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * No more bytes arrive, although the body has not ended.
     *
     * @param reason what the handler is told when it has taken the bytes that are held
     */
    public final void fail(String reason) {
        lock.lock();
        try {
            failure = reason;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    // The handler's thread.

    /** Returns the trailers, which are known when the body has been read to its end. */
    public final Http2Headers trailers() {
        lock.lock();
        try {
            return ended && held.isEmpty() ? trailers : EmptyHttp2Headers.INSTANCE;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public final int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public final int read(byte[] into, int offset, int length) throws IOException {
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
                held.remove().release();
            }
            take(bytes);
            return bytes;
        } finally {
            lock.unlock();
        }
    }

    /** Takes the next buffer, which the caller owns. Returns {@code null} at the end. */
    protected final @Nullable ByteBuf takeFirst() throws IOException {
        lock.lock();
        try {
            ByteBuf first = awaitFirst();
            if (first != null) {
                held.remove();
                take(first.readableBytes());
            }
            return first;
        } finally {
            lock.unlock();
        }
    }

    private void take(int bytes) {
        heldBytes -= bytes;
        onTaken(bytes, heldBytes);
    }

    /** Returns {@code null} at the end. The caller holds the lock. */
    private @Nullable ByteBuf awaitFirst() throws IOException {
        try {
            while (held.isEmpty() && !ended && failure == null && !closed) {
                changed.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the request's body was awaited");
        }
        if (closed) {
            throw new IOException("the request's body has been closed");
        }
        if (held.isEmpty() && failure != null) {
            throw new IOException(failure);
        }
        return held.peek();
    }

    @Override
    public final int available() {
        lock.lock();
        try {
            return heldBytes;
        } finally {
            lock.unlock();
        }
    }

    /** Drops the bytes that are held. The rest of the request is dropped when it arrives. */
    @Override
    public final void close() {
        lock.lock();
        try {
            closed = true;
            held.forEach(ByteBuf::release);
            held.clear();
            take(heldBytes);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
