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
    private int limit;
    private final LoadMeter meter = new LoadMeter(loop.eventLoop(), () -> 0, () -> limit, reports::add);

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
        for (int i = 0; i < 20; i++) {
            pass(250);
        }
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

    private void pass(long millis) {
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
    }

    /** A dispatcher closes a connection with more than a hundred control messages in 10 s. */
    @Test
    void should_report_another_limit_soon_but_at_most_five_times_a_second() {
        pass(250);
        for (int i = 1; i <= 1_000; i++) {
            limit = i;
            meter.reportSoon();
            pass(10);
        }
        assertThat(reports).hasSizeBetween(40, 55);
        assertThat(reports.get(0).requestLimit()).isEqualTo(1);
        pass(200);
        assertThat(reports.get(reports.size() - 1).requestLimit()).isEqualTo(1_000);
    }

    /** The clock of a process's CPU time is too coarse for 200 ms. */
    @Test
    void should_not_measure_cpu_time_between_its_regular_reports() {
        burnCpu(100);
        meter.reportSoon();
        pass(250);
        assertThat(reports)
                .singleElement()
                .satisfies(load ->
                        assertThat(load.cpuPermille() + load.requestCpuMicros()).isZero());
        for (int i = 0; i < 19; i++) {
            pass(250);
        }
        int measured = reports.get(1).cpuPermille();
        assertThat(measured).isPositive();
        meter.reportSoon();
        pass(250);
        assertThat(reports.get(2).cpuPermille()).isEqualTo(measured);
    }

    /** The dispatcher would learn of it up to 5 s later. */
    @Test
    void should_report_a_late_event_loop_soon() {
        pass(250);
        pass(450);
        pass(1);
        assertThat(reports).isEmpty();
        pass(650);
        pass(1);
        assertThat(reports)
                .singleElement()
                .satisfies(load -> assertThat(load.loopLagMicros()).isBetween(400_000, 402_000));
    }
}
