package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HeaderTextTest {
    private static boolean isUtf8(byte[] bytes) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    @Test
    void should_read_all_pairs_and_many_longer_sequences_as_a_strict_decoder_does() {
        Random random = new Random(1);
        for (int i = 0; i < 1 << 18; i++) {
            byte[] bytes = i < 1 << 16 ? new byte[] {(byte) (i >> 8), (byte) i} : new byte[1 + random.nextInt(6)];
            if (i >= 1 << 16) {
                random.nextBytes(bytes);
            }
            String latin1 = new String(bytes, StandardCharsets.ISO_8859_1);
            String text = isUtf8(bytes) ? new String(bytes, StandardCharsets.UTF_8) : latin1;
            assertThat(HeaderText.decode(new AsciiString(bytes, false))).isEqualTo(text);
            assertThat(HeaderText.decode(latin1)).isEqualTo(text);
            if (isUtf8(bytes)) {
                assertThat(HeaderText.encode(text).array()).isEqualTo(bytes);
                assertThat(AsciiString.of(HeaderText.bytesOf(latin1)).toByteArray())
                        .isEqualTo(bytes);
            }
        }
    }

    @Test
    void should_leave_bytes_and_ascii_alone() {
        AsciiString bytes = new AsciiString(new byte[] {'a', -1});
        assertThat(HeaderText.bytesOf(bytes)).isSameAs(bytes);
        assertThat(HeaderText.bytesOf("plain")).isEqualTo("plain");
        assertThat(HeaderText.decode("\u65e5\u00e9")).isEqualTo("\u65e5\u00e9");
    }
}
