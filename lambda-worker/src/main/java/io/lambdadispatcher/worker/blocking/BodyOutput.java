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
 * A response's body, written by the handler's thread, which waits here while the response is not
 * writable.
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

    /** On the event loop. */
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

    /** Writes by reference. @param bytes owned from now on */
    void pass(ByteBuf data) throws IOException {
        try {
            sendGathered();
        } catch (IOException | RuntimeException e) {
            data.release();
            throw e;
        }
        send(data);
    }

    /** Sends the head, too, if it has not been sent. */
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

    /** What was not flushed, the caller's from now on. */
    @Nullable
    ByteBuf takeGathered() {
        ByteBuf left = gathered;
        gathered = null;
        return left;
    }

    /** Forgets what was not flushed. */
    void drop() {
        ByteBuf left = takeGathered();
        if (left != null) {
            left.release();
        }
    }
}
