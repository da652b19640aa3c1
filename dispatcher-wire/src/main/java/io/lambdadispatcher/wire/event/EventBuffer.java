package io.lambdadispatcher.wire.event;

import java.io.ByteArrayOutputStream;

/** Grows up to a limit, and is not copied at the end where its size was foreseen. */
final class EventBuffer extends ByteArrayOutputStream {
    private final int limitBytes;

    EventBuffer(int expectedBytes, int limitBytes) {
        super(Math.min(expectedBytes, limitBytes));
        this.limitBytes = limitBytes;
    }

    @Override
    public synchronized void write(byte[] from, int offset, int length) {
        verify(length);
        super.write(from, offset, length);
    }

    @Override
    public synchronized void write(int octet) {
        verify(1);
        super.write(octet);
    }

    private void verify(int more) {
        if (more > limitBytes - count) {
            throw new EventTooLargeException(limitBytes);
        }
    }

    /** Once, at the end. */
    byte[] octets() {
        return count == buf.length ? buf : toByteArray();
    }
}
