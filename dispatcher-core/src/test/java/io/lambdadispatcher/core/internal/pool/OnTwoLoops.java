package io.lambdadispatcher.core.internal.pool;

import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;

/** A test on two event loops, which it runs step by step, in virtual time. */
abstract class OnTwoLoops {
    /** More turns than a request and its response need to cross over several times. */
    private static final int TURNS = 6;

    final EmbeddedChannel[] loops = {new EmbeddedChannel(), new EmbeddedChannel()};

    List<EventLoop> eventLoops() {
        return List.of(loops[0].eventLoop(), loops[1].eventLoop());
    }

    @BeforeEach
    void freeze() {
        for (EmbeddedChannel loop : loops) {
            loop.freezeTime();
        }
    }

    /** Runs what is due, and what follows from it on the other event loop. */
    void turn() {
        for (int i = 0; i < TURNS; i++) {
            for (EmbeddedChannel loop : loops) {
                loop.runPendingTasks();
            }
        }
    }

    void pass(long millis) {
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        }
        for (EmbeddedChannel loop : loops) {
            loop.runScheduledPendingTasks();
        }
        turn();
    }
}
