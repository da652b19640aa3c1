package com.example.inference;

import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Inference in protobuf:
 *
 * <pre>
 * message Request     { repeated string keys = 1; repeated float values = 2; }
 * message Answer      { repeated Probability probabilities = 1; }
 * message Probability { float value = 1; }
 * </pre>
 *
 * Values may be packed or not; unknown fields are ignored. An answer always has 7 bytes.
 */
final class ProtobufInference implements Inference {
    private static final AsciiString PROTOBUF_TYPE = AsciiString.cached("application/x-protobuf");
    private static final int KEYS = 1;
    private static final int VALUES = 2;

    private static final byte LENGTH_1 = 1 << 3 | ProtobufReader.LENGTH_DELIMITED;
    private static final byte FIXED32_1 = 1 << 3 | ProtobufReader.FIXED32;

    @Override
    public AsciiString mediaType() {
        return PROTOBUF_TYPE;
    }

    @Override
    public byte[] answer(byte[] request) {
        float probability = Network.SHARED.probability(inputs(request));
        return ByteBuffer.allocate(7)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(LENGTH_1)
                .put((byte) (1 + Float.BYTES))
                .put(FIXED32_1)
                .putFloat(probability)
                .array();
    }

    private static float[] inputs(byte[] request) {
        List<String> keys = new ArrayList<>();
        List<Float> values = new ArrayList<>();
        ProtobufReader reader = new ProtobufReader(request);
        while (reader.nextField()) {
            if (reader.is(KEYS, ProtobufReader.LENGTH_DELIMITED)) {
                keys.add(reader.text());
            } else if (reader.is(VALUES, ProtobufReader.LENGTH_DELIMITED)) {
                reader.packedFloats(values);
            } else if (reader.is(VALUES, ProtobufReader.FIXED32)) {
                values.add(reader.fixed32Float());
            } else {
                reader.skip();
            }
        }
        return Features.inputs(keys, values);
    }
}
