package com.example.inference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InferenceTest {
    private static final List<String> KEYS =
            IntStream.range(0, Network.INPUTS).mapToObj(Features::key).toList();
    private static final float ZEROS = 0.48680958f;
    private static final float DRAWN = 0.5214982f;

    private final Inference json = new JsonInference();
    private final Inference protobuf = new ProtobufInference();

    @RepeatedTest(10)
    void should_give_the_same_probability_through_json_and_protobuf(RepetitionInfo repetition) {
        List<Float> values = drawn(repetition.getCurrentRepetition());

        float probability = probability(protobuf.answer(packed(KEYS, values)));

        assertThat(json.answer(json(KEYS, values)))
                .hasSize(12)
                .isEqualTo("[%.8f]".formatted(probability).getBytes(StandardCharsets.US_ASCII));
    }

    /**
     * The weights are equal in every process and JVM, because benchmarks compare answers by bytes.
     */
    @Test
    void should_always_have_the_same_weights() {
        assertThat(Network.SHARED.probability(new float[Network.INPUTS])).isEqualTo(ZEROS);
        assertThat(probability(protobuf.answer(packed(KEYS, drawn(1))))).isEqualTo(DRAWN);
    }

    @Test
    void should_tell_inputs_apart() {
        float first = probability(protobuf.answer(packed(KEYS, drawn(1))));

        assertThat(first).isBetween(0f, 1f).isNotEqualTo(probability(protobuf.answer(packed(KEYS, drawn(2)))));
    }

    @Test
    void should_take_keys_in_any_order() {
        List<Float> values = drawn(3);
        List<String> keysBackwards = new ArrayList<>(KEYS);
        List<Float> valuesBackwards = new ArrayList<>(values);
        Collections.reverse(keysBackwards);
        Collections.reverse(valuesBackwards);

        assertThat(json.answer(json(keysBackwards, valuesBackwards))).isEqualTo(json.answer(json(KEYS, values)));
    }

    @Test
    void should_take_floats_that_are_not_packed_and_pass_over_unknown_fields() {
        List<Float> values = drawn(4);
        ByteBuffer message = little(2048);
        message.put((byte) (9 << 3)).put((byte) 0x96).put((byte) 1);
        message.put((byte) (10 << 3 | 1)).putLong(42);
        message.put((byte) (11 << 3 | 2)).put((byte) 3).put(new byte[3]);
        message.put((byte) (12 << 3 | 5)).putInt(42);
        for (int i = 0; i < Network.INPUTS; i++) {
            putKey(message, KEYS.get(i));
            message.put((byte) (2 << 3 | 5)).putFloat(values.get(i));
        }

        assertThat(protobuf.answer(bytes(message))).hasSize(7).isEqualTo(protobuf.answer(packed(KEYS, values)));
    }

    @Test
    void should_refuse_a_message_cut_short_anywhere() {
        byte[] message = packed(KEYS, drawn(5));

        // At the end of a field, the numbers of keys and values differ.
        for (int length = 1; length < message.length; length++) {
            byte[] cut = Arrays.copyOf(message, length);
            assertThatThrownBy(() -> protobuf.answer(cut)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{\"keys\":[\"f00\"],\"values\":[]}",
                "{\"keys\":[\"f42\"],\"values\":[1]}",
                "{\"keys\":1}",
                "{\"keys\":[",
                "{\"keys\":[\"f00\"],\"values\":[\"x\"]}"
            })
    void should_refuse_json_that_is_no_request(String body) {
        assertThatThrownBy(() -> json.answer(body.getBytes(StandardCharsets.UTF_8)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_write_eight_digits_whatever_the_probability() {
        assertThat(new String(JsonInference.text(0), StandardCharsets.US_ASCII)).isEqualTo("[0.00000000]");
        assertThat(new String(JsonInference.text(0.0625f), StandardCharsets.US_ASCII))
                .isEqualTo("[0.06250000]");
        assertThat(new String(JsonInference.text(1), StandardCharsets.US_ASCII)).isEqualTo("[1.00000000]");
    }

    private static List<Float> drawn(long seed) {
        Random random = new Random(seed);
        List<Float> values = new ArrayList<>();
        for (int i = 0; i < Network.INPUTS; i++) {
            values.add((float) random.nextGaussian());
        }
        return values;
    }

    private static byte[] json(List<String> keys, List<Float> values) {
        String text =
                "{\"keys\":[\"" + String.join("\",\"", keys) + "\"],\"more\":{\"a\":[1]},\"values\":" + values + "}";
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] packed(List<String> keys, List<Float> values) {
        ByteBuffer message = little(2048);
        keys.forEach(key -> putKey(message, key));
        int bytes = values.size() * Float.BYTES;
        message.put((byte) (2 << 3 | 2)).put((byte) (bytes & 0x7F | 0x80)).put((byte) (bytes >> 7));
        values.forEach(message::putFloat);
        return bytes(message);
    }

    private static void putKey(ByteBuffer message, String key) {
        message.put((byte) (1 << 3 | 2)).put((byte) key.length()).put(key.getBytes(StandardCharsets.US_ASCII));
    }

    private static ByteBuffer little(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] bytes(ByteBuffer message) {
        return Arrays.copyOf(message.array(), message.position());
    }

    /** Reads an {@code Answer}: a message with one message with one float. */
    private static float probability(byte[] answer) {
        assertThat(answer).hasSize(7).startsWith(0x0A, 0x05, 0x0D);
        return ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN).getFloat(3);
    }
}
