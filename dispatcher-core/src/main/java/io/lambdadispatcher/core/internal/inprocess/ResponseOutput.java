package io.lambdadispatcher.core.internal.inprocess;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A response's body. The handler's thread writes it, and waits while too many bytes have not been
 * taken by the client.
 */
final class ResponseOutput extends OutputStream {
    /** Maximum number of bytes of one response body that wait, as of a worker stream. */
    static final int WINDOW_BYTES = 256 * 1024;

    private static final int GATHER_BYTES = 16 * 1024;

    /** Where gathered bytes go. */
    interface Target {
        /** Sends status and headers if they have not been sent. */
        void sendHead();

        /** @param data owned by this method */
        void send(ByteBuf data);
    }

    private final Target to;
    private final boolean dropped;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition writable = lock.newCondition();
    private @Nullable ByteBuf gathered;
    private int untakenBytes;
    private boolean cancelled;

    /** @param dropped whether the response must have no body */
    ResponseOutput(Target to, boolean dropped) {
        this.to = to;
        this.dropped = dropped;
    }

    // Event loop.

    void onTaken(int bytes) {
        lock.lock();
        try {
            untakenBytes -= bytes;
            writable.signal();
        } finally {
            lock.unlock();
        }
    }

    void cancel() {
        lock.lock();
        try {
            cancelled = true;
            writable.signal();
        } finally {
            lock.unlock();
        }
    }

    // The handler's thread.

    @Override
    public void write(int value) throws IOException {
        byte[] one = {(byte) value};
        write(one, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, from.length);
        if (dropped) {
            return;
        }
        int at = offset;
        for (int left = length; left > 0; ) {
            ByteBuf into = gathering();
            int bytes = Math.min(left, into.writableBytes());
            into.writeBytes(from, at, bytes);
            at += bytes;
            left -= bytes;
            if (!into.isWritable()) {
                sendGathered();
            }
        }
    }

    private ByteBuf gathering() {
        ByteBuf into = gathered;
        if (into == null) {
            into = ByteBufAllocator.DEFAULT.directBuffer(GATHER_BYTES, GATHER_BYTES);
            gathered = into;
        }
        return into;
    }

    /** Sends the gathered bytes, and before them status and headers if they have not been sent. */
    @Override
    public void flush() throws IOException {
        to.sendHead();
        sendGathered();
    }

    private void sendGathered() throws IOException {
        if (gathered != null) {
            awaitWindow(gathered.readableBytes());
            to.sendHead();
            to.send(takeGathered());
        }
    }

    private void awaitWindow(int bytes) throws IOException {
        lock.lock();
        try {
            while (untakenBytes >= WINDOW_BYTES && !cancelled) {
                writable.await();
            }
            if (cancelled) {
                throw new IOException("the response is no longer needed");
            }
            untakenBytes += bytes;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the response waited for the client");
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether bytes have not been flushed. */
    boolean hasGathered() {
        return gathered != null;
    }

    /** Returns the bytes that were not flushed. The caller releases them. */
    ByteBuf takeGathered() {
        ByteBuf left = Objects.requireNonNull(gathered, "nothing was gathered");
        gathered = null;
        return left;
    }

    /** Drops the bytes that were not flushed. */
    void drop() {
        if (gathered != null) {
            takeGathered().release();
        }
    }
}
