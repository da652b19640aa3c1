package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;

/**
 * A message between dispatcher and worker about the worker itself, on the control stream of each
 * worker connection. Each payload ends with a MAC, which {@link ControlCodec} adds and checks.
 * Receivers skip bytes between the fields that they know and the MAC, so that a later version can
 * add fields at the end. {@code docs/reference/protocol.md} shows the layouts.
 */
public sealed interface ControlMessage {
    /** Maximum of a length in one byte. */
    int MAX_TEXT_BYTES = 255;

    FrameType type();

    /** Appends the fields, without header and MAC. */
    void writeFields(ByteBuf out);

    /**
     * First message of a worker connection.
     *
     * @param minVersion oldest protocol version the worker speaks, 8 bits
     * @param maxVersion newest, 8 bits
     * @param streams worker streams the worker will open on this connection, 16 bits
     * @param remainingMillis until the worker must be gone, 32 bits; {@link #NO_DEADLINE} = never
     * @param agent software and version, for logs; at most 255 bytes
     */
    record Hello(int minVersion, int maxVersion, int streams, int remainingMillis, String agent)
            implements ControlMessage {
        public static final int NO_DEADLINE = -1;

        @Override
        public FrameType type() {
            return FrameType.HELLO;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeByte(minVersion).writeByte(maxVersion).writeShort(streams).writeInt(remainingMillis);
            writeText(out, agent);
        }
    }

    /**
     * The dispatcher takes the worker connection.
     *
     * @param version the one both speak, 8 bits
     * @param pingIntervalMillis how often each side probes a silent peer, 32 bits
     * @param pingTimeoutMillis a peer silent for this long after a probe is gone, 32 bits
     */
    record Welcome(int version, int pingIntervalMillis, int pingTimeoutMillis) implements ControlMessage {
        @Override
        public FrameType type() {
            return FrameType.WELCOME;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeByte(version).writeInt(pingIntervalMillis).writeInt(pingTimeoutMillis);
        }
    }

    /**
     * Requests may, or may for now not, be sent on this connection; false at first. 8 bits, 1 or 0.
     */
    record Readiness(boolean ready) implements ControlMessage {
        @Override
        public FrameType type() {
            return FrameType.READINESS;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeByte(ready ? 1 : 0);
        }
    }

    /**
     * How the worker fares, every few seconds.
     *
     * @param cpuPermille of one core used since the last report, 16 bits (more than 1000 with
     *     several cores)
     * @param memoryPermille of the heap in use, 16 bits
     * @param loopLagMicros the longest an event loop was late since the last report, 32 bits
     */
    record Load(int cpuPermille, int memoryPermille, int loopLagMicros) implements ControlMessage {
        @Override
        public FrameType type() {
            return FrameType.LOAD;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeShort(cpuPermille).writeShort(memoryPermille).writeInt(loopLagMicros);
        }
    }

    /**
     * No new exchange starts on this connection; those in flight end, then GOODBYE.
     *
     * @param reason 8 bits
     * @param graceMillis after which what is left is cut off, 32 bits
     */
    record Drain(DrainCode reason, int graceMillis) implements ControlMessage {
        @Override
        public FrameType type() {
            return FrameType.DRAIN;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeByte(reason.code()).writeInt(graceMillis);
        }
    }

    /**
     * The last message; the sender closes the connection after it.
     *
     * @param text why, for logs; at most 255 bytes
     */
    record Goodbye(String text) implements ControlMessage {
        @Override
        public FrameType type() {
            return FrameType.GOODBYE;
        }

        @Override
        public void writeFields(ByteBuf out) {
            writeText(out, text);
        }
    }

    /** Why a worker connection drains. */
    enum DrainCode {
        /** The dispatcher goes. */
        SHUTDOWN(1),
        /** Fewer workers are needed. */
        SCALE_IN(2),
        /** The worker's own end is near. */
        DEADLINE(3),
        /** The worker has had nothing to do. */
        IDLE(4),
        /** Somebody asked for it, or a reason this version does not know. */
        REQUESTED(5);

        private final int code;

        DrainCode(int code) {
            this.code = code;
        }

        public int code() {
            return code;
        }

        static DrainCode ofCode(int code) {
            for (DrainCode reason : values()) {
                if (reason.code == code) {
                    return reason;
                }
            }
            return REQUESTED;
        }
    }

    /**
     * @param fields readable are the payload's bytes without the MAC; the caller keeps it
     * @throws WireException if a field is cut short or out of range
     */
    static ControlMessage read(FrameType type, ByteBuf fields, long offset) throws WireException {
        try {
            return switch (type) {
                case HELLO -> hello(fields, offset);
                case WELCOME -> new Welcome(fields.readUnsignedByte(), fields.readInt(), fields.readInt());
                case READINESS -> new Readiness(fields.readUnsignedByte() == 1);
                case LOAD -> new Load(fields.readUnsignedShort(), fields.readUnsignedShort(), fields.readInt());
                case DRAIN -> new Drain(DrainCode.ofCode(fields.readUnsignedByte()), fields.readInt());
                case GOODBYE -> new Goodbye(readText(fields));
                default ->
                    throw new WireException(Reason.FRAME_NOT_ALLOWED_HERE, offset, type + " is not a control message");
            };
        } catch (IndexOutOfBoundsException e) {
            throw new WireException(Reason.BAD_CONTROL_MESSAGE, offset, type + " is cut short: " + e.getMessage(), e);
        }
    }

    private static Hello hello(ByteBuf in, long offset) throws WireException {
        int minVersion = in.readUnsignedByte();
        int maxVersion = in.readUnsignedByte();
        int streams = in.readUnsignedShort();
        if (streams < 1 || streams > WireLimits.MAX_STREAMS_PER_CONNECTION) {
            throw new WireException(
                    Reason.BAD_CONTROL_MESSAGE,
                    offset,
                    "HELLO with " + streams + " streams, expected 1 to " + WireLimits.MAX_STREAMS_PER_CONNECTION);
        }
        return new Hello(minVersion, maxVersion, streams, in.readInt(), readText(in));
    }

    private static void writeText(ByteBuf out, String text) {
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        int bytes = Math.min(data.length, MAX_TEXT_BYTES);
        while (bytes < data.length && (data[bytes] & 0xC0) == 0x80) {
            // Not within a character: the receiver would drop the whole text.
            bytes--;
        }
        out.writeByte(bytes).writeBytes(data, 0, bytes);
    }

    private static String readText(ByteBuf in) {
        ByteBuf text = in.readSlice(in.readUnsignedByte());
        return ByteBufUtil.isText(text, StandardCharsets.UTF_8) ? text.toString(StandardCharsets.UTF_8) : "(not UTF-8)";
    }
}
