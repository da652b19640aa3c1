package io.lambdadispatcher.core.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.ProcessSnapshot;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

@EachRelease
class ProcessWatchTest {
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final RecordingObserver observer = new RecordingObserver();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final Incidents incidents = new Incidents(observer, ticker);
    private final ProcessWatch watch = new ProcessWatch(List.of(), incidents, new ProcessSnapshot(0, 0, 0, 0.2, 0.2));
    private long throttledMillis;
    private long gcMillis;

    private void second(long throttled, long lag, long gc, double heap, double direct) {
        throttledMillis += throttled;
        gcMillis += gc;
        watch.onLook(
                new ProcessSnapshot(throttledMillis * MILLI, lag * MILLI, gcMillis * MILLI, heap, direct),
                1000 * MILLI);
        ticker.advance(1, TimeUnit.SECONDS);
        incidents.tick();
    }

    private void seconds(int count, long throttled, long lag, long gc, double heap, double direct) {
        for (int i = 0; i < count; i++) {
            second(throttled, lag, gc, heap, direct);
        }
    }

    private List<String> told() {
        return observer.incidents.stream().map(Incident::toString).toList();
    }

    @Test
    void should_tell_once_that_its_container_takes_its_processor_time_away() {
        seconds(100, 850, 4000, 0, 0.2, 0.2);
        assertThat(told())
                .containsExactly("incident begins: the dispatcher is short of processor time, so requests are late:"
                        + " event loops are 4000 ms late, and the limit of its container stopped its threads for 85 % of"
                        + " the time");

        seconds(7, 0, 1, 0, 0.2, 0.2);
        assertThat(told())
                .hasSize(2)
                .last()
                .asString()
                .startsWith("incident ends: the dispatcher is short of processor time, so requests are late: 98 s");
    }

    /** Otherwise, the later an event loop was, the less the log said of it. */
    @Test
    void should_take_an_event_loop_for_late_that_does_not_answer() {
        EmbeddedChannel channel = new EmbeddedChannel();
        ProcessWatch busy =
                new ProcessWatch(List.of(channel.eventLoop()), incidents, new ProcessSnapshot(0, 0, 0, 0.2, 0.2));

        assertThat(busy.ask()).isZero();
        long late = busy.ask();
        assertThat(late).isPositive();
        Await.nanoTime(System.nanoTime() + 1000 * MILLI);
        late = busy.ask();
        assertThat(late).isGreaterThanOrEqualTo(1000 * MILLI);

        channel.runPendingTasks();
        assertThat(busy.ask()).as("late since the look before").isLessThan(late);
        channel.finishAndReleaseAll();
    }

    /** Looks in immediate succession would find no shortage. */
    @Test
    void should_wait_for_a_second_before_it_looks_again_after_a_stall() {
        List<Long> looks = new CopyOnWriteArrayList<>();
        DefaultEventLoop loop = new DefaultEventLoop() {
            @Override
            public void execute(Runnable task) {
                looks.add(System.nanoTime());
                task.run();
            }
        };
        ProcessWatch stalled = ProcessWatch.start(List.of(loop), incidents);
        try {
            long until = System.nanoTime() + 3000 * MILLI;
            GlobalEventExecutor.INSTANCE.execute(() -> Await.nanoTime(until));
            Await.until("two looks after the stall", () -> looks.size() >= 2 && looks.get(looks.size() - 2) > until);
        } finally {
            stalled.close();
        }
        for (int i = 1; i < looks.size(); i++) {
            assertThat(looks.get(i) - looks.get(i - 1)).isGreaterThan(900 * MILLI);
        }
    }

    @Test
    void should_not_tell_of_what_passes_within_two_seconds() {
        for (int i = 0; i < 10; i++) {
            seconds(2, 900, 500, 0, 0.95, 0.95);
            seconds(1, 0, 1, 0, 0.2, 0.2);
        }
        assertThat(told()).isEmpty();
    }

    @Test
    void should_say_which_memory_is_short_and_not_blame_the_processor_for_garbage_collections() {
        seconds(3, 0, 700, 600, 0.97, 0.2);
        seconds(3, 0, 1, 0, 0.2, 0.93);
        assertThat(told())
                .containsExactly(
                        "incident begins: the dispatcher is short of heap, so requests are late: 97 % are in use after"
                                + " garbage collection, which took 60 % of the time",
                        "incident begins: the dispatcher is short of direct memory, so requests are late: 93 % are in"
                                + " use");
    }
}
