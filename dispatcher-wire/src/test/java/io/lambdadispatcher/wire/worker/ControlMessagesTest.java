package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.HostileText;
import io.lambdadispatcher.wire.worker.ControlCodec.Role;
import io.lambdadispatcher.wire.worker.ControlMessage.Goodbye;
import io.lambdadispatcher.wire.worker.ControlMessage.Hello;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.wire.worker.ControlMessage.Peers;
import io.lambdadispatcher.wire.worker.ControlMessage.Readiness;
import io.lambdadispatcher.wire.worker.ControlMessage.Welcome;
import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** ControlCodec and ControlMessage. */
class ControlMessagesTest {
    private final ControlCodec worker = new ControlCodec(Role.WORKER, "a token");
    private final ControlCodec dispatcher = new ControlCodec(Role.DISPATCHER, "a token");
    private final ByteBuf bytes = ByteBufAllocator.DEFAULT.buffer();

    @AfterEach
    void release() {
        bytes.release();
    }

    private ControlMessage read(ControlCodec by) throws WireException {
        int header = bytes.readInt();
        FrameType type = Objects.requireNonNull(FrameType.ofCode(FrameLayout.typeCode(header)));
        return by.read(type, bytes.readSlice(FrameLayout.payloadBytes(header)), 99);
    }

    @Test
    void should_number_each_direction_by_itself() throws Exception {
        worker.write(bytes, new Readiness(true));
        worker.write(bytes, new Load(0xFFFF, 1000, Integer.MAX_VALUE, 17));
        assertThat(read(dispatcher)).isEqualTo(new Readiness(true));
        dispatcher.write(bytes, new Welcome(1, 2000, 3000));
        assertThat(read(dispatcher)).isEqualTo(new Load(0xFFFF, 1000, Integer.MAX_VALUE, 17));
        assertThat(read(worker)).isEqualTo(new Welcome(1, 2000, 3000));
    }

    /** As ints, large amounts would count as less than nothing. */
    @Test
    void should_read_amounts_without_a_sign() throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < 1_000; i++) {
            int lag = random.nextInt();
            int cpu = random.nextInt();
            int share = random.nextInt();
            worker.write(bytes, new Load(1, 2, lag, cpu, share, lag));
            assertThat(read(dispatcher))
                    .isEqualTo(new Load(1, 2, amount(lag), amount(cpu), amount(share), amount(lag)));
            dispatcher.write(bytes, new Welcome(1, lag, cpu, share));
            assertThat(read(worker)).isEqualTo(new Welcome(1, amount(lag), amount(cpu), amount(share)));
        }
    }

    private static int amount(int bits) {
        return bits < 0 ? Integer.MAX_VALUE : bits;
    }

    @Test
    void should_carry_a_share_of_connections_only_if_there_is_one() throws Exception {
        int before = bytes.writerIndex();
        dispatcher.write(bytes, new Welcome(2, 2000, 3000, 0));
        int without = bytes.writerIndex() - before;
        dispatcher.write(bytes, new Welcome(2, 2000, 3000, 8));
        worker.write(bytes, new Load(1, 2, 3, 4, 8, 0));

        // An earlier version would ignore the further field, and does not even see it if it is 0.
        assertThat(without).isEqualTo(FrameLayout.HEADER_BYTES + 9 + WireLimits.MAC_BYTES);
        assertThat(read(worker)).isEqualTo(new Welcome(2, 2000, 3000));
        assertThat(read(worker)).isEqualTo(new Welcome(2, 2000, 3000, 8));
        assertThat(read(dispatcher)).isEqualTo(new Load(1, 2, 3, 4, 8, 0));
    }

    @Test
    void should_carry_a_limit_of_requests_only_if_there_is_one() throws Exception {
        worker.write(bytes, new Load(1, 2, 3, 4, 0, 0));
        int without = bytes.writerIndex();
        worker.write(bytes, new Load(1, 2, 3, 4, 0, 7));

        assertThat(without).isEqualTo(FrameLayout.HEADER_BYTES + 12 + WireLimits.MAC_BYTES);
        assertThat(read(dispatcher)).isEqualTo(new Load(1, 2, 3, 4));
        assertThat(read(dispatcher)).isEqualTo(new Load(1, 2, 3, 4, 0, 7));
    }

    /** They are shown to operators in logs, pages and terminals. */
    @Test
    void should_make_the_texts_of_the_peer_printable() throws Exception {
        Random random = new Random(2);
        for (int i = 0; i < 2_000; i++) {
            String text = i == 0 ? HostileText.ALL_KINDS : HostileText.random(random);
            worker.write(bytes.clear(), new Hello(1, 2, 1, 0, text, text, text, text));
            worker.write(bytes, new Goodbye(text));
            worker.write(bytes, new Peers(List.of(text)));

            Hello hello = (Hello) read(dispatcher);
            String shown = hello.agent();
            assertThat(shown).matches(HostileText::isPrintable);
            assertThat(hello.functionVersion()).isEqualTo(shown);
            assertThat(hello.logStream()).isEqualTo(shown);
            assertThat(hello.zone()).isEqualTo(shown);
            assertThat(read(dispatcher)).isEqualTo(new Goodbye(shown));
            assertThat(read(dispatcher)).isEqualTo(new Peers(List.of(shown)));
        }
    }

    @Test
    void should_refuse_every_changed_bit() {
        worker.write(bytes, new Load(1, 2, 3, 4));
        for (int bit = 0; bit < bytes.readableBytes() * Byte.SIZE; bit++) {
            if (bit < FrameLayout.HEADER_BYTES * Byte.SIZE) {
                continue;
            }
            ByteBuf changed = bytes.copy();
            int at = bit / Byte.SIZE;
            changed.setByte(at, changed.getByte(at) ^ 1 << bit % Byte.SIZE);
            try {
                assertThatThrownBy(() -> new ControlCodec(Role.DISPATCHER, "a token")
                                .read(FrameType.LOAD, changed.skipBytes(FrameLayout.HEADER_BYTES), 99))
                        .as("bit %d", bit)
                        .isInstanceOfSatisfying(
                                WireException.class, e -> assertThat(e.reason()).isEqualTo(Reason.BAD_MAC))
                        .hasMessageContaining("at offset 99")
                        .hasMessageContaining("LOAD number 0");
            } finally {
                changed.release();
            }
        }
    }

    @Test
    void should_refuse_a_payload_without_room_for_the_mac() {
        bytes.writeZero(WireLimits.MAC_BYTES - 1);
        assertThatThrownBy(() -> dispatcher.read(FrameType.GOODBYE, bytes, 7))
                .hasMessage("TOO_SHORT at offset 7: GOODBYE payload of 15 bytes, expected at least 16");
    }

    @Test
    void should_refuse_a_frame_that_is_no_control_message() {
        assertThatThrownBy(() -> ControlMessage.read(FrameType.DATA, bytes, 7))
                .isInstanceOf(WireException.class)
                .hasMessage("FRAME_NOT_ALLOWED_HERE at offset 7: DATA is not a control message");
    }

    @Test
    void should_cut_a_long_text_between_characters() throws Exception {
        worker.write(bytes, new Goodbye("\u20ac".repeat(100)));
        assertThat(read(dispatcher)).isEqualTo(new Goodbye("\u20ac".repeat(85)));
        worker.write(bytes, new Goodbye("x" + "\u20ac".repeat(100)));
        assertThat(read(dispatcher)).isEqualTo(new Goodbye("x" + "\u20ac".repeat(84)));
        worker.write(bytes, new Goodbye("\ud83d\ude00".repeat(64)));
        assertThat(read(dispatcher)).isEqualTo(new Goodbye("\ud83d\ude00".repeat(63)));
        worker.write(bytes, new Goodbye("x".repeat(300)));
        assertThat(read(dispatcher)).isEqualTo(new Goodbye("x".repeat(255)));
    }

    @Test
    void should_read_a_text_that_is_not_utf_8() throws Exception {
        bytes.writeByte(2).writeByte(0xC3).writeByte(0x28);
        assertThat(ControlMessage.read(FrameType.GOODBYE, bytes, 0)).isEqualTo(new Goodbye("(not UTF-8)"));
    }

    @Test
    void should_read_a_deadline_beyond_31_bits_and_none() throws Exception {
        worker.write(bytes, new Hello(1, 1, 1, Hello.NO_DEADLINE, "a", "", "", ""));
        worker.write(bytes, new Hello(1, 255, 1000, 0x8000_0000, "", "7", "2026/11/23/[7]0a", "use1-az1"));
        assertThat(read(dispatcher)).isEqualTo(new Hello(1, 1, 1, Hello.NO_DEADLINE, "a", "", "", ""));
        assertThat(read(dispatcher))
                .isEqualTo(new Hello(1, 255, 1000, 0x8000_0000, "", "7", "2026/11/23/[7]0a", "use1-az1"));
    }

    @Test
    void should_send_the_first_peers_only_if_there_are_too_many_of_them() throws Exception {
        List<String> many =
                IntStream.range(0, 100).mapToObj(i -> "10.0.0." + i + ":8444").toList();
        dispatcher.write(bytes, Peers.ofFirst(many));
        assertThat(read(worker)).isEqualTo(new Peers(many.subList(0, WireLimits.MAX_PEERS)));
    }

    @Test
    void should_send_no_more_peers_than_a_message_can_hold() throws Exception {
        String address = "x".repeat(250) + ":8444";
        dispatcher.write(bytes, Peers.ofFirst(Collections.nCopies(20, address)));
        assertThat(bytes.readableBytes()).isLessThanOrEqualTo(FrameLayout.HEADER_BYTES + WireLimits.MAX_CONTROL_BYTES);
        assertThat(read(worker)).isEqualTo(new Peers(Collections.nCopies(15, address)));
    }
}
