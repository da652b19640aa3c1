package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.worker.internal.exchange.ServedRequests;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A meter on an event loop whose time the test advances. The CPU time is that of the test's
 * process.
 */
class LoadMeterTest {
    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final List<Load> reports = new ArrayList<>();
    private final LoadMeter meter = new LoadMeter(loop.eventLoop(), () -> 0, reports::add);

    @BeforeEach
    void start() {
        loop.freezeTime();
        meter.start();
    }

    @AfterEach
    void stop() {
        meter.stop();
        loop.close();
    }

    private Load next() {
        loop.advanceTimeBy(5, TimeUnit.SECONDS);
        loop.runScheduledPendingTasks();
        return reports.get(reports.size() - 1);
    }

    private static void serve(int requests) {
        for (int i = 0; i < requests; i++) {
            ServedRequests.onServed();
        }
    }

    private static void burnCpu(long millis) {
        long end =
                ProcessHandle.current().info().totalCpuDuration().orElseThrow().toMillis() + millis;
        while (ProcessHandle.current().info().totalCpuDuration().orElseThrow().toMillis() < end) {
            Thread.onSpinWait();
        }
    }

    @Test
    void should_divide_the_cpu_time_by_the_requests() {
        burnCpu(200);
        serve(100);
        // The clock has units of 10 ms, and other threads of this process use CPU time, too.
        assertThat(next().requestCpuMicros()).isBetween(1_900, 60_000);
    }

    @Test
    void should_not_take_few_requests_for_cheap_ones_because_the_clock_is_coarse() {
        serve(2);
        assertThat(next().requestCpuMicros()).isGreaterThanOrEqualTo(5_000);
    }

    @Test
    void should_not_know_the_cpu_time_of_a_request_without_requests() {
        burnCpu(50);
        assertThat(next().requestCpuMicros()).isZero();
    }

    @Test
    void should_weigh_recent_requests_more() {
        serve(1_000);
        next();
        burnCpu(300);
        serve(10);
        assertThat(next().requestCpuMicros()).isBetween(400, 60_000);
        serve(100_000);
        assertThat(next().requestCpuMicros()).isLessThan(50);
    }
}
