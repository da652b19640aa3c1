package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.channel.RecvByteBufAllocator.ExtendedHandle;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FairReadsTest {
    private static final int FULL = 64 * 1024;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final FairReads reads = new FairReads(channel.eventLoop());

    @BeforeEach
    void stopTheClock() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    /**
     * Reads from a client whose socket always has more bytes than a read asks for.
     *
     * @return the number of bytes that the event loop reads in one turn
     */
    private int visit(ExtendedHandle client) {
        client.reset(channel.config());
        int total = 0;
        do {
            ByteBuf buffer = client.allocate(channel.alloc());
            int size = buffer.writableBytes();
            buffer.release();
            client.attemptedBytesRead(size);
            client.lastBytesRead(size);
            client.incMessagesRead(1);
            total += size;
        } while (client.continueReading());
        client.readComplete();
        return total;
    }

    private ExtendedHandle greedyClient() {
        ExtendedHandle client = (ExtendedHandle) reads.newHandle();
        while (visit(client) < 4 * FULL) {
            channel.runPendingTasks();
        }
        channel.runPendingTasks();
        return client;
    }

    @Test
    void should_read_four_times_in_a_short_turn() {
        ExtendedHandle client = greedyClient();
        assertThat(visit(client)).isEqualTo(4 * FULL);
        channel.advanceTimeBy(FairReads.LONG_TURN_NANOS, TimeUnit.NANOSECONDS);
        assertThat(visit(client)).isEqualTo(4 * FULL);
    }

    @Test
    void should_read_little_and_once_in_a_turn_that_has_taken_long() {
        ExtendedHandle first = greedyClient();
        ExtendedHandle second = greedyClient();
        assertThat(visit(first)).isEqualTo(4 * FULL);
        channel.advanceTimeBy(FairReads.LONG_TURN_NANOS + 1, TimeUnit.NANOSECONDS);
        assertThat(visit(second)).isEqualTo(FairReads.SMALL_READ_BYTES);
        assertThat(visit(first)).isEqualTo(FairReads.SMALL_READ_BYTES);
    }

    @Test
    void should_read_much_again_in_the_next_turn() {
        ExtendedHandle client = greedyClient();
        visit(client);
        channel.advanceTimeBy(FairReads.LONG_TURN_NANOS + 1, TimeUnit.NANOSECONDS);
        assertThat(visit(client)).isEqualTo(FairReads.SMALL_READ_BYTES);
        channel.runPendingTasks();
        assertThat(visit(greedyClient())).isEqualTo(4 * FULL);
    }
}
