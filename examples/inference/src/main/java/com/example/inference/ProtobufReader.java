package com.example.inference;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Reads the protobuf wire format field by field, as far as a flat message needs it. Methods throw
 * {@link IllegalArgumentException} if the message is incomplete or malformed. Not thread-safe.
 */
final class ProtobufReader {
    static final int VARINT = 0;
    static final int FIXED64 = 1;
    static final int LENGTH_DELIMITED = 2;
    static final int FIXED32 = 5;

    private static final int LONGEST_VARINT_BITS = 70;

    private final ByteBuffer in;
    private int field;
    private int type;

    ProtobufReader(byte[] message) {
        in = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** @return false at the end of the message */
    boolean nextField() {
        if (!in.hasRemaining()) {
            return false;
        }
        long tag = varint();
        field = (int) (tag >>> 3);
        type = (int) (tag & 7);
        return true;
    }

    boolean is(int wantedField, int wantedType) {
        return field == wantedField && type == wantedType;
    }

    String text() {
        int length = length();
        String text = new String(in.array(), in.position(), length, StandardCharsets.UTF_8);
        advance(length);
        return text;
    }

    void packedFloats(List<Float> into) {
        int end = length() + in.position();
        while (in.position() < end) {
            into.add(fixed32Float());
        }
        if (in.position() != end) {
            throw new IllegalArgumentException("packed floats end within one");
        }
    }

    float fixed32Float() {
        verifyLeft(Float.BYTES);
        return in.getFloat();
    }

    void skip() {
        switch (type) {
            case VARINT -> varint();
            case FIXED64 -> advance(Long.BYTES);
            case LENGTH_DELIMITED -> advance(length());
            case FIXED32 -> advance(Integer.BYTES);
            default -> throw new IllegalArgumentException("wire type " + type + ", expected 0, 1, 2 or 5");
        }
    }

    private long varint() {
        long value = 0;
        try {
            for (int shift = 0; shift < LONGEST_VARINT_BITS; shift += 7) {
                byte part = in.get();
                value |= (part & 0x7FL) << shift;
                if (part >= 0) {
                    return value;
                }
            }
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("message ends within a number", e);
        }
        throw new IllegalArgumentException("number of more than ten bytes");
    }

    private int length() {
        long length = varint();
        if (length < 0 || length > in.remaining()) {
            throw new IllegalArgumentException("length " + length + ", but only " + in.remaining() + " bytes are left");
        }
        return (int) length;
    }

    private void advance(int bytes) {
        verifyLeft(bytes);
        in.position(in.position() + bytes);
    }

    private void verifyLeft(int bytes) {
        if (bytes > in.remaining()) {
            throw new IllegalArgumentException("message ends " + (bytes - in.remaining()) + " bytes too early");
        }
    }
}
