package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FrameLayoutTest {

    @ParameterizedTest
    @EnumSource(FrameType.class)
    void should_read_a_header_as_it_was_made(FrameType type) {
        for (int bytes : new int[] {0, 1, 255, 65_536, FrameLayout.MAX_PAYLOAD_BYTES}) {
            for (boolean end : new boolean[] {false, true}) {
                int header = FrameLayout.header(type, end, bytes);
                assertThat(FrameType.ofCode(FrameLayout.typeCode(header))).isEqualTo(type);
                assertThat(FrameLayout.isEnd(header)).isEqualTo(end);
                assertThat(FrameLayout.flags(header)).isEqualTo(end ? 1 : 0);
                assertThat(FrameLayout.payloadBytes(header)).isEqualTo(bytes);
            }
        }
    }

    @Test
    void should_know_no_other_type() {
        for (int code : new int[] {-1, 0, 16, Integer.MAX_VALUE}) {
            assertThat(FrameType.ofCode(code)).isNull();
        }
    }

    @ParameterizedTest
    @EnumSource(ErrorCode.class)
    void should_find_an_error_by_its_code(ErrorCode code) {
        assertThat(ErrorCode.ofCode(code.code())).isEqualTo(code);
    }

    @Test
    void should_take_unknown_errors_as_internal() {
        for (int code : new int[] {-1, 0, 10, Integer.MIN_VALUE}) {
            assertThat(ErrorCode.ofCode(code)).isEqualTo(ErrorCode.INTERNAL);
        }
    }
}
