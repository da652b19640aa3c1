package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.worker.handler.Response;
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
 */
final class BodyOutput extends OutputStream {
    private static final int GATHER_BYTES = 16 * 1024;

    private final BlockingCall call;
    private final Response to;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition writable = lock.newCondition();
    private @Nullable ByteBuf gathered;

    BodyOutput(BlockingCall call, Response to) {
        this.call = call;
        this.to = to;
    }

    /** Wakes the writing thread. Called on the event loop. */
    void onWritable() {
        lock.lock();
        try {
            writable.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void write(int value) throws IOException {
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

    /** Writes a buffer without copying it. @param data released by this method or the response */
    void pass(ByteBuf data) throws IOException {
        try {
            sendGathered();
        } catch (IOException | RuntimeException e) {
            data.release();
            throw e;
        }
        send(data);
    }

    /** Sends the gathered bytes, and before them status and headers if they have not been sent. */
    @Override
    public void flush() throws IOException {
        call.sendHead();
        sendGathered();
    }

    private void sendGathered() throws IOException {
        ByteBuf full = gathered;
        gathered = null;
        if (full != null) {
            send(full);
        }
    }

    private void send(ByteBuf data) throws IOException {
        try {
            call.sendHead();
        } catch (RuntimeException e) {
            data.release();
            throw e;
        }
        if (!to.write(data)) {
            awaitWritable();
        }
    }

    private void awaitWritable() throws IOException {
        lock.lock();
        try {
            while (!to.isWritable()) {
                call.verifyWanted();
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
    @Nullable
    ByteBuf takeGathered() {
        ByteBuf left = gathered;
        gathered = null;
        return left;
    }

    /** Drops the bytes that were not flushed. */
    void drop() {
        ByteBuf left = takeGathered();
        if (left != null) {
            left.release();
        }
    }
}
