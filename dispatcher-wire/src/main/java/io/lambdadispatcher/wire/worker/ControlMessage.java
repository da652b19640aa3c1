package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A message between dispatcher and worker about the worker itself, on the control stream of each
 * worker connection. Each payload ends with a MAC, which {@link ControlCodec} adds and checks.
 * Receivers skip bytes between the fields that they know and the MAC, so that a later version can
 * add fields at the end. Texts that were read are printable, see {@link PrintableText}. {@code
 * docs/reference/protocol.md} shows the layouts.
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
     * @param functionVersion version of the function's code; at most 255 bytes, empty = not known
     * @param logStream name of the log that has the worker's output, for operators; at most 255
     *     bytes, empty = not known
     * @param zone availability zone in which the worker runs; at most 255 bytes, empty = not known
     */
    record Hello(
            int minVersion,
            int maxVersion,
            int streams,
            int remainingMillis,
            String agent,
            String functionVersion,
            String logStream,
            String zone)
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
            if (!functionVersion.isEmpty() || !logStream.isEmpty() || !zone.isEmpty()) {
                writeText(out, functionVersion);
                writeText(out, logStream);
            }
            if (!zone.isEmpty()) {
                writeText(out, zone);
            }
        }
    }

    /**
     * The dispatcher accepts the worker connection. Comes again when the worker's share changes,
     * but only if the worker has reported a share in {@link Load}.
     *
     * @param version the version that both sides speak, 8 bits
     * @param pingIntervalMillis each side pings its peer after this time without traffic, 32 bits
     * @param pingTimeoutMillis a peer that does not answer a ping within this time is lost, 32 bits
     * @param downstreamShare how many downstream connections the worker may have from now on, 32
     *     bits; 0 = as many as before
     */
    record Welcome(int version, int pingIntervalMillis, int pingTimeoutMillis, int downstreamShare)
            implements ControlMessage {
        public Welcome(int version, int pingIntervalMillis, int pingTimeoutMillis) {
            this(version, pingIntervalMillis, pingTimeoutMillis, 0);
        }

        @Override
        public FrameType type() {
            return FrameType.WELCOME;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeByte(version).writeInt(pingIntervalMillis).writeInt(pingTimeoutMillis);
            if (downstreamShare != 0) {
                out.writeInt(downstreamShare);
            }
        }
    }

    /**
     * Requests may be sent on this connection, or may not for now. False at the start. 8 bits, 1 or
     * 0.
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
     * The load of the worker, every few seconds, and soon after its limit of requests has changed.
     *
     * @param cpuPermille CPU time since the last report, in thousandths of one core, 16 bits (over
     *     1,000 with several cores)
     * @param memoryPermille heap in use, in thousandths, 16 bits
     * @param loopLagMicros maximum delay of an event loop since the last report, 32 bits
     * @param requestCpuMicros CPU time per request, rounded up, 32 bits; 0 = not known
     * @param downstreamShare the most downstream connections that the worker has or opens, 32 bits;
     *     0 = not known. If it is known, the worker can be told another share
     * @param requestLimit the most requests at once that the worker wants on this connection, 32
     *     bits; 0 = as many as it has worker streams
     */
    record Load(
            int cpuPermille,
            int memoryPermille,
            int loopLagMicros,
            int requestCpuMicros,
            int downstreamShare,
            int requestLimit)
            implements ControlMessage {
        public Load(int cpuPermille, int memoryPermille, int loopLagMicros, int requestCpuMicros) {
            this(cpuPermille, memoryPermille, loopLagMicros, requestCpuMicros, 0, 0);
        }

        @Override
        public FrameType type() {
            return FrameType.LOAD;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeShort(cpuPermille)
                    .writeShort(memoryPermille)
                    .writeInt(loopLagMicros)
                    .writeInt(requestCpuMicros);
            if (downstreamShare != 0 || requestLimit != 0) {
                out.writeInt(downstreamShare);
            }
            if (requestLimit != 0) {
                out.writeInt(requestLimit);
            }
        }
    }

    /**
     * No new exchange starts on this connection. GOODBYE follows when those in flight have ended.
     *
     * @param reason 8 bits
     * @param graceMillis exchanges that take longer are cut off, 32 bits
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
     * The last message. The sender then closes the connection.
     *
     * @param text reason for logs; at most 255 bytes
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

    /**
     * The dispatchers that share the worker, all of them in each message. From version 2 on.
     *
     * @param addresses worker ports as {@code host:port}, at most 255 bytes each, the sender's
     *     first; at least 1, at most {@link WireLimits#MAX_PEERS}
     */
    record Peers(List<String> addresses) implements ControlMessage {
        private static final int MAX_FIELD_BYTES = WireLimits.MAX_CONTROL_BYTES - WireLimits.MAC_BYTES;

        public Peers {
            addresses = List.copyOf(addresses);
        }

        /** Returns a message with as many of the addresses as it can hold. */
        public static Peers ofFirst(List<String> addresses) {
            List<String> fitting = new ArrayList<>();
            int bytes = 1;
            for (String address : addresses) {
                bytes += 1 + ByteBufUtil.utf8Bytes(address);
                if (fitting.size() == WireLimits.MAX_PEERS || bytes > MAX_FIELD_BYTES) {
                    break;
                }
                fitting.add(address);
            }
            return new Peers(fitting);
        }

        @Override
        public FrameType type() {
            return FrameType.PEERS;
        }

        @Override
        public void writeFields(ByteBuf out) {
            out.writeByte(addresses.size());
            addresses.forEach(address -> writeText(out, address));
        }
    }

    /** Why a worker connection drains. */
    enum DrainCode {
        /** The dispatcher shuts down. */
        SHUTDOWN(1),
        /** Fewer workers are needed. */
        SCALE_IN(2),
        /** The worker's deadline is near. */
        DEADLINE(3),
        /** The worker was idle. */
        IDLE(4),
        /** An operator or program asked for it, or the reason is not known in this version. */
        REQUESTED(5),
        /** Only this connection drains. The worker keeps serving on other ones. Worker only. */
        LEAVING(6);

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
     * @param fields its readable bytes are the payload without the MAC; remains the caller's
     * @throws WireException if a field is incomplete or out of range
     */
    static ControlMessage read(FrameType type, ByteBuf fields, long offset) throws WireException {
        try {
            return switch (type) {
                case HELLO -> hello(fields, offset);
                case WELCOME ->
                    new Welcome(
                            fields.readUnsignedByte(), readAmount(fields), readAmount(fields), readOptional(fields));
                case READINESS -> new Readiness(fields.readUnsignedByte() == 1);
                case LOAD ->
                    new Load(
                            fields.readUnsignedShort(),
                            fields.readUnsignedShort(),
                            readAmount(fields),
                            readOptional(fields),
                            readOptional(fields),
                            readOptional(fields));
                case DRAIN -> new Drain(DrainCode.ofCode(fields.readUnsignedByte()), readAmount(fields));
                case GOODBYE -> new Goodbye(readText(fields));
                case PEERS -> peers(fields, offset);
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
        return new Hello(
                minVersion,
                maxVersion,
                streams,
                in.readInt(),
                readText(in),
                in.isReadable() ? readText(in) : "",
                in.isReadable() ? readText(in) : "",
                in.isReadable() ? readText(in) : "");
    }

    private static Peers peers(ByteBuf in, long offset) throws WireException {
        int count = in.readUnsignedByte();
        if (count < 1 || count > WireLimits.MAX_PEERS) {
            throw new WireException(
                    Reason.BAD_CONTROL_MESSAGE,
                    offset,
                    "PEERS with " + count + " addresses, expected 1 to " + WireLimits.MAX_PEERS);
        }
        List<String> addresses = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            addresses.add(readText(in));
        }
        return new Peers(addresses);
    }

    /**
     * Reads 32 bits without a sign. An amount that no int holds is the largest int, because a
     * negative one would count as less than nothing.
     */
    private static int readAmount(ByteBuf in) {
        return (int) Math.min(in.readUnsignedInt(), Integer.MAX_VALUE);
    }

    /** Reads a field that earlier versions do not send. */
    private static int readOptional(ByteBuf in) {
        return in.isReadable() ? readAmount(in) : 0;
    }

    private static void writeText(ByteBuf out, String text) {
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        int bytes = Math.min(data.length, MAX_TEXT_BYTES);
        while (bytes < data.length && (data[bytes] & 0xC0) == 0x80) {
            // Not within a character, because the receiver would drop the complete text.
            bytes--;
        }
        out.writeByte(bytes).writeBytes(data, 0, bytes);
    }

    private static String readText(ByteBuf in) {
        ByteBuf text = in.readSlice(in.readUnsignedByte());
        return ByteBufUtil.isText(text, StandardCharsets.UTF_8)
                ? PrintableText.of(text.toString(StandardCharsets.UTF_8))
                : "(not UTF-8)";
    }
}
