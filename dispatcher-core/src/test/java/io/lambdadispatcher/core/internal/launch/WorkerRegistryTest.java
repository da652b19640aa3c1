package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.fleet.FleetMember;
import io.lambdadispatcher.core.internal.fleet.FleetTime;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Refusal;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whether a worker of a fleet is admitted that this dispatcher has not launched. */
class WorkerRegistryTest {
    private static final LaunchToken TOKEN = new LaunchToken(
            "f", FleetMember.WORKER_ID_PREFIX + "1", Instant.now().plusSeconds(60));

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final Map<String, LaunchSupervisor> supervisors = new HashMap<>();
    private final WorkerRegistry registry = new WorkerRegistry(supervisors, Incidents.unobserved(), ticker);

    WorkerRegistryTest() {
        FleetMember member = new FleetMember(
                Ledger.inMemory(),
                loop.eventLoop(),
                new FleetTime() {
                    @Override
                    public long nanos() {
                        return ticker.nanoTime();
                    }

                    @Override
                    public long millis() {
                        return ticker.nanoTime() / 1_000_000;
                    }
                },
                new Random(1),
                Incidents.unobserved(),
                peers -> {});
        WorkerLauncher launcher = new WorkerLauncher() {
            @Override
            public LaunchedWorker launch(LaunchRequest request) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void close(Duration grace) {}
        };
        supervisors.put(
                "f",
                new LaunchSupervisor(
                        new FunctionPool(
                                FunctionOptions.builder("f").build(),
                                List.of(loop.eventLoop()),
                                DispatcherObserver.NONE),
                        launcher,
                        registry,
                        loop.eventLoop(),
                        new LaunchSupervisor.Access(new byte[16], List.of()),
                        null,
                        member,
                        DispatcherObserver.NONE,
                        Incidents.unobserved()));
    }

    @AfterEach
    void close() {
        loop.finishAndReleaseAll();
    }

    private Refusal dialIn() {
        // A worker that is not admitted is not asked for anything.
        return registry.admit(TOKEN, null, false);
    }

    @Test
    void should_not_tell_anybody_that_a_worker_of_the_fleet_is_not_known_yet() {
        for (int i = 0; i < 10; i++) {
            assertThat(dialIn())
                    .returns(HttpResponseStatus.TOO_MANY_REQUESTS, Refusal::status)
                    .returns(null, Refusal::rejection);
            ticker.advance(1, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_tell_that_a_worker_is_still_not_known_after_a_while() {
        for (int i = 0; i < 16; i++) {
            dialIn();
            ticker.advance(1, TimeUnit.SECONDS);
        }
        assertThat(dialIn()).returns(Rejection.ENDED, Refusal::rejection);
    }

    @Test
    void should_forget_how_long_a_worker_waited_if_it_stops_dialling() {
        dialIn();
        ticker.advance(1, TimeUnit.HOURS);
        assertThat(dialIn()).returns(null, Refusal::rejection);
    }
}
