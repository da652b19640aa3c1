package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FrameReaderTest {
    private final Recorder recorder = new Recorder();
    private final FrameReader reader = FrameReader.ofWorkerStream(ByteBufAllocator.DEFAULT, recorder);
    private final List<ByteBuf> inputs = new ArrayList<>();

    @AfterEach
    void release() {
        reader.close();
        recorder.parts.forEach(ByteBuf::release);
        inputs.forEach(
                input -> assertThat(input.release()).as("input is ours alone").isTrue());
    }

    private ByteBuf input(int... bytes) {
        ByteBuf input = ByteBufAllocator.DEFAULT.buffer();
        inputs.add(input);
        for (int value : bytes) {
            input.writeByte(value);
        }
        return input;
    }

    private void releaseParts() {
        recorder.parts.forEach(ByteBuf::release);
        recorder.parts.clear();
    }

    @Test
    void should_pass_data_on_before_the_frame_is_whole() throws Exception {
        assertThat(reader.read(input(0x41, 0, 0, 5, 'h', 'e'))).isEqualTo(4);
        assertThat(recorder.seen).containsExactly("data he");
        assertThat(reader.isInsideFrame()).isTrue();
        assertThat(reader.read(input('l'))).isZero();
        assertThat(reader.read(input('l', 'o'))).isZero();
        assertThat(recorder.seen).containsExactly("data he", "data l", "data lo end");
        assertThat(reader.isInsideFrame()).isFalse();
    }

    @Test
    void should_pass_data_on_without_copying() throws Exception {
        ByteBuf input = input(0x40, 0, 0, 3, 'a', 'b', 'c');
        reader.read(input);
        input.setByte(4, 'X');
        assertThat(recorder.parts.get(0).toString(StandardCharsets.US_ASCII)).isEqualTo("Xbc");
        assertThat(input.refCnt()).isEqualTo(2);
    }

    @Test
    void should_pass_on_an_empty_data_frame_when_its_header_is_complete() throws Exception {
        assertThat(reader.read(input(0x41, 0, 0))).isEqualTo(3);
        assertThat(recorder.seen).isEmpty();
        assertThat(reader.read(input(0))).isEqualTo(1);
        assertThat(recorder.seen).containsExactly("data  end");
    }

    @Test
    void should_say_where_each_frame_begins() throws Exception {
        reader.read(input(0x40, 0, 0, 1, 'a', 0x70, 0, 0, 4, 0, 0, 0, 3, 0x50, 0, 0, 0));
        assertThat(recorder.seen).containsExactly("data a", "CANCEL of 4 at 5", "TRAILERS of 0 at 13");
    }

    @Test
    void should_not_set_aside_what_was_only_announced() throws Exception {
        List<Object> asked = new ArrayList<>();
        ByteBufAllocator watched = (ByteBufAllocator) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {ByteBufAllocator.class}, (proxy, method, arguments) -> {
                    asked.addAll(List.of(arguments));
                    return method.invoke(ByteBufAllocator.DEFAULT, arguments);
                });
        FrameReader frugal = FrameReader.ofWorkerStream(watched, recorder);
        frugal.read(input(0x20, 4, 0, 0, 0x88));
        assertThat(frugal.isInsideFrame()).isTrue();
        assertThat(asked).containsExactly(256, WireLimits.MAX_HEAD_BLOCK_BYTES);
        frugal.close();
    }

    @Test
    void should_release_what_it_gathered_when_closed_within_a_frame() throws Exception {
        reader.read(input(0x70, 0, 0, 4, 0, 0));
        reader.close();
        reader.close();
        assertThatThrownBy(() -> reader.read(input(0))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void should_read_nothing_after_an_error() {
        assertThatThrownBy(() -> reader.read(input(0x40, 0, 0, 1, 'a', 0x90, 0, 0, 16)))
                .isInstanceOf(WireException.class)
                .hasMessage("FRAME_NOT_ALLOWED_HERE at offset 5: WELCOME frame on a worker stream");
        assertThatThrownBy(() -> reader.read(input(0x40, 0, 0, 0)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("offset 5");
        assertThat(recorder.seen).containsExactly("data a");
    }

    @Test
    void should_fail_for_good_when_the_listener_refuses_a_frame() {
        recorder.refuse = true;
        assertThatThrownBy(() -> reader.read(input(0x70, 0, 0, 4, 0, 0, 0, 1))).isInstanceOf(WireException.class);
        assertThatThrownBy(() -> reader.read(input(0))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void should_stop_when_the_listener_closes_it_at_data() throws Exception {
        recorder.closeAfter = 1;
        ByteBuf input = input(0x40, 0, 0, 1, 'a', 0x40, 0, 0, 1, 'b');
        assertThat(reader.read(input)).isEqualTo(9);
        assertThat(input.isReadable()).isFalse();
        assertThat(recorder.seen).containsExactly("data a");
    }

    @Test
    void should_stop_when_the_listener_closes_it_within_a_data_frame() throws Exception {
        recorder.closeAfter = 1;
        reader.read(input(0x40, 0, 0, 5, 'a'));
        assertThat(recorder.seen).containsExactly("data a");
        releaseParts();
    }

    @Test
    void should_stop_when_the_listener_closes_it_at_a_gathered_frame() throws Exception {
        recorder.closeAfter = 1;
        reader.read(input(0x70, 0, 0, 4, 0, 0));
        ByteBuf rest = input(0, 1, 0x40, 0, 0, 1, 'b');
        assertThat(reader.read(rest)).isEqualTo(7);
        assertThat(recorder.seen).containsExactly("CANCEL of 4 at 0");
    }

    @Test
    void should_name_reason_and_offset_separately() {
        assertThatThrownBy(() -> reader.read(input(0, 0, 0, 0))).isInstanceOfSatisfying(WireException.class, e -> {
            assertThat(e.reason()).isEqualTo(Reason.UNKNOWN_FRAME);
            assertThat(e.offset()).isZero();
        });
    }

    @Test
    void should_take_the_largest_of_every_length() throws Exception {
        ByteBuf input = Unpooled.buffer();
        inputs.add(input);
        input.writeInt(FrameLayout.header(FrameType.TRAILERS, false, WireLimits.MAX_HEAD_BLOCK_BYTES))
                .writeZero(WireLimits.MAX_HEAD_BLOCK_BYTES);
        input.writeInt(FrameLayout.header(FrameType.RESET, false, 1028)).writeZero(1028);
        reader.read(input);
        assertThat(recorder.seen).containsExactly("TRAILERS of 262144 at 0", "RESET of 1028 at 262148");
    }

    private final class Recorder implements FrameReader.Listener {
        final List<String> seen = new ArrayList<>();
        final List<ByteBuf> parts = new ArrayList<>();
        boolean refuse;
        int closeAfter = Integer.MAX_VALUE;

        @Override
        public void onData(ByteBuf part, boolean end) {
            parts.add(part);
            see("data " + part.toString(StandardCharsets.US_ASCII) + (end ? " end" : ""));
        }

        @Override
        public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
            if (refuse) {
                throw new WireException(Reason.FRAME_NOT_ALLOWED_HERE, offset, "not now");
            }
            see(type + " of " + payload.readableBytes() + " at " + offset);
        }

        private void see(String what) {
            seen.add(what);
            if (seen.size() == closeAfter) {
                reader.close();
            }
        }
    }
}
