package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * Writes and reads control messages with their MAC: the first {@link WireLimits#MAC_BYTES} bytes of
 * HMAC-SHA-256, with SHA-256 of the launch token as the key. The MAC covers the sender's role ('W'
 * or 'D'), the message's 64-bit number on this stream and direction (from 0), the frame's type code
 * (8 bits) and the fields. A message cannot be forged, changed, repeated, omitted or returned to
 * its sender. There is one object for each end of each control stream. Confined to its event loop.
 */
public final class ControlCodec {
    /** The end that writes. */
    public enum Role {
        WORKER('W'),
        DISPATCHER('D');

        private final byte value;

        Role(char value) {
            this.value = (byte) value;
        }
    }

    private final Hmac hmac;
    private final Role own;
    private long sent;
    private long received;

    /** @param token the launch token that opened the control stream */
    public ControlCodec(Role own, String token) {
        this.own = own;
        hmac = new Hmac(Hmac.sha256(token));
    }

    /** Appends the complete frame to {@code out}, which remains the caller's. */
    public void write(ByteBuf out, ControlMessage message) {
        int start = out.writerIndex();
        out.writeInt(0);
        int fieldsAt = out.writerIndex();
        message.writeFields(out);
        int fieldBytes = out.writerIndex() - fieldsAt;
        out.writeBytes(mac(own, sent++, message.type(), out.slice(fieldsAt, fieldBytes)));
        out.setInt(start, FrameLayout.header(message.type(), false, fieldBytes + WireLimits.MAC_BYTES));
    }

    /**
     * @param payload payload of one frame, including the MAC; read to its end, and remains the
     *     caller's
     * @throws WireException if the MAC or a field is wrong
     */
    public ControlMessage read(FrameType type, ByteBuf payload, long offset) throws WireException {
        if (payload.readableBytes() < WireLimits.MAC_BYTES) {
            throw new WireException(
                    Reason.TOO_SHORT,
                    offset,
                    type + " payload of " + payload.readableBytes() + " bytes, expected at least "
                            + WireLimits.MAC_BYTES);
        }
        ByteBuf fields = payload.readSlice(payload.readableBytes() - WireLimits.MAC_BYTES);
        byte[] claimed = ByteBufUtil.getBytes(payload.readSlice(WireLimits.MAC_BYTES));
        Role peer = own == Role.WORKER ? Role.DISPATCHER : Role.WORKER;
        if (!MessageDigest.isEqual(claimed, mac(peer, received, type, fields))) {
            throw new WireException(Reason.BAD_MAC, offset, type + " number " + received + " with a wrong MAC");
        }
        received++;
        return ControlMessage.read(type, fields, offset);
    }

    private byte[] mac(Role writer, long number, FrameType type, ByteBuf fields) {
        ByteBuffer context = ByteBuffer.allocate(1 + Long.BYTES + 1);
        context.put(writer.value).putLong(number).put((byte) type.code());
        byte[] whole = hmac.update(context.array())
                .update(ByteBufUtil.getBytes(fields))
                .finish();
        return Arrays.copyOf(whole, WireLimits.MAC_BYTES);
    }
}
