package io.lambdadispatcher.wire.blocking;

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
 * A response's body. The handler's thread writes it, and waits while the response is not writable.
 * Small writes are gathered.
 */
public abstract class BlockingOutput extends OutputStream {
    private static final int GATHER_BYTES = 16 * 1024;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition writable = lock.newCondition();
    private @Nullable ByteBuf gathered;

    /** Sends status and headers if they have not been sent. */
    protected abstract void sendHead();

    /**
     * Sends bytes behind status and headers.
     *
     * @param data owned by this method
     * @return whether more bytes may be sent immediately
     */
    protected abstract boolean send(ByteBuf data);

    protected abstract boolean isWritable();

    /** @throws IOException if the response is no longer needed */
    protected abstract void verifyWanted() throws IOException;

    /** Wakes the writing thread, because the response may be writable or no longer needed. */
    public final void onWritable() {
        lock.lock();
        try {
            writable.signalAll();
        } finally {
            lock.unlock();
        }
    }

    // The handler's thread.

    @Override
    public final void write(int value) throws IOException {
        byte[] one = {(byte) value};
        write(one, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, from.length);
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

    /**
     * Writes a buffer without copying it.
     *
     * @param data owned by this method
     */
    public final void pass(ByteBuf data) throws IOException {
        try {
            sendGathered();
        } catch (IOException | RuntimeException e) {
            data.release();
            throw e;
        }
        sendAndWait(data);
    }

    /** Sends the gathered bytes, and before them status and headers if they have not been sent. */
    @Override
    public final void flush() throws IOException {
        sendHead();
        sendGathered();
    }

    private void sendGathered() throws IOException {
        ByteBuf full = takeGathered();
        if (full != null) {
            sendAndWait(full);
        }
    }

    private void sendAndWait(ByteBuf data) throws IOException {
        try {
            sendHead();
        } catch (RuntimeException e) {
            data.release();
            throw e;
        }
        if (!send(data)) {
            awaitWritable();
        }
    }

    private void awaitWritable() throws IOException {
        lock.lock();
        try {
            while (!isWritable()) {
                verifyWanted();
                writable.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the response waited for the client");
        } finally {
            lock.unlock();
        }
    }

    /** Returns the bytes that were not flushed. The caller releases them. */
    public final @Nullable ByteBuf takeGathered() {
        ByteBuf left = gathered;
        gathered = null;
        return left;
    }

    /** Drops the bytes that were not flushed. */
    public final void drop() {
        ByteBuf left = takeGathered();
        if (left != null) {
            left.release();
        }
    }
}
