package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.wire.testkit.Splits;
import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every vector, cut in every way. */
class VectorsTest {

    static Stream<Arguments> wellFormed() {
        return cutInEveryWay("exchange-frames.txt", "control-messages.txt");
    }

    static Stream<Arguments> malformed() {
        return cutInEveryWay("malformed-frames.txt", "malformed-control-messages.txt");
    }

    static Stream<Vector> canonical() {
        return Stream.of("exchange-frames.txt", "control-messages.txt")
                .flatMap(Vector::of)
                .filter(vector -> vector.has("canonical"));
    }

    static Stream<Vector> tokens() {
        return Vector.of("tokens.txt");
    }

    private static Stream<Arguments> cutInEveryWay(String... files) {
        return Stream.of(files)
                .flatMap(Vector::of)
                .flatMap(vector -> Splits.all().stream().map(split -> Arguments.of(vector, split)));
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("wellFormed")
    void should_read_what_the_vector_says(Vector vector, Splits.Split split) throws Exception {
        try (EventLog log = new EventLog(vector.one("on"))) {
            long[] returned = new long[1];
            byte[] bytes = vector.bytes();
            split.feed(bytes, piece -> returned[0] += log.reader().read(piece));
            assertThat(log.events()).as("%s, %s", vector, split).isEqualTo(vector.all("event"));
            assertThat(log.reader().isInsideFrame()).isFalse();
            assertThat(returned[0] + log.dataBytes()).as("bytes accounted for").isEqualTo(bytes.length);
        }
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("malformed")
    void should_refuse_where_the_vector_says(Vector vector, Splits.Split split) {
        String[] expected = vector.one("error").split(" ", 3);
        try (EventLog log = new EventLog(vector.one("on"))) {
            WireException refusal = catchThrowableOfType(
                    WireException.class,
                    () -> split.feed(vector.bytes(), piece -> log.reader().read(piece)));
            assertThat(refusal).as("%s, %s", vector, split).isNotNull();
            assertThat(refusal.reason()).isEqualTo(Reason.valueOf(expected[0]));
            assertThat(refusal.offset()).isEqualTo(Long.parseLong(expected[1]));
            assertThat(refusal)
                    .hasMessageStartingWith(expected[0] + " at offset " + expected[1] + ": ")
                    .hasMessageContaining(expected.length < 3 ? "" : expected[2]);
            assertThat(log.events()).isEqualTo(vector.all("event"));
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("canonical")
    void should_write_the_bytes_of_the_vector(Vector vector) throws Exception {
        try (EventLog log = new EventLog(vector.one("on"))) {
            Splits.whole().feed(vector.bytes(), (ByteBuf piece) -> log.reader().read(piece));
            assertThat(ByteBufUtil.hexDump(log.rewritten())).isEqualTo(ByteBufUtil.hexDump(vector.bytes()));
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("tokens")
    void should_judge_tokens_as_the_vector_says(Vector vector) throws Exception {
        Function<String, byte[]> keyOf = vector.has("secret")
                ? function -> LaunchToken.key(ByteBufUtil.decodeHexDump(vector.one("secret")), function)
                : function -> ByteBufUtil.decodeHexDump(vector.one("key"));
        Instant now = Instant.ofEpochSecond(Long.parseLong(vector.one("now")));
        String text = vector.one("text");
        if (vector.has("valid")) {
            String[] expected = vector.one("valid").split("\\|");
            LaunchToken token = LaunchToken.verify(text, function -> List.of(keyOf.apply(function)), now);
            assertThat(token)
                    .isEqualTo(new LaunchToken(
                            expected[0], expected[1], Instant.ofEpochSecond(Long.parseLong(expected[2]))));
            assertThat(token.sign(keyOf.apply(expected[0]))).isEqualTo(text);
            assertThat(ByteBufUtil.hexDump(keyOf.apply(expected[0]))).isEqualTo(vector.one("key"));
            return;
        }
        String[] expected = vector.one("error").split(" ", 2);
        assertThatThrownBy(() -> LaunchToken.verify(text, function -> List.of(keyOf.apply(function)), now))
                .isInstanceOfSatisfying(WireException.class, refusal -> {
                    assertThat(refusal.reason()).isEqualTo(Reason.BAD_TOKEN);
                    assertThat(refusal.offset()).isEqualTo(Long.parseLong(expected[0]));
                })
                .hasMessageContaining(expected[1]);
    }
}
