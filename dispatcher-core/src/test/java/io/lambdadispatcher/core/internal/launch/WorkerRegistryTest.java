package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.fleet.FleetMember;
import io.lambdadispatcher.core.internal.fleet.FleetTime;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Departure;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Refusal;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.core.internal.worker.WorkerLink;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Hello;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who is admitted that this dispatcher has not launched, and which of them are base workers. */
class WorkerRegistryTest {
    private static final LaunchToken TOKEN = new LaunchToken(
            "f", LaunchToken.FLEET_WORKER_ID_PREFIX + "1", Instant.now().plusSeconds(60));

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f").connectionsPerWorker(3).build(),
            List.of(loop.eventLoop()),
            DispatcherObserver.NONE);
    private final MockTicker ticker = Ticker.newMockTicker();
    private final Map<String, LaunchSupervisor> supervisors = new HashMap<>();
    private final WorkerRegistry registry = new WorkerRegistry(supervisors, Incidents.unobserved(), ticker);

    WorkerRegistryTest() {
        loop.freezeTime();
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
                peers -> {},
                message -> {});
        supervisors.put(
                "f",
                new LaunchSupervisor(
                        pool,
                        new RecordingLauncher(),
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
                    .returns(425, refusal -> refusal.status().code())
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

    /** Its successor has the same address, so a worker that nobody launches must not give up. */
    @Test
    void should_ask_workers_to_come_back_while_it_shuts_down() {
        registry.drainAll(Duration.ZERO);
        assertThat(dialIn()).returns(503, refusal -> refusal.status().code()).returns(null, Refusal::rejection);
    }

    /** A connection of a worker that may open 3 streams. */
    private record Link(String workerId, FunctionPool pool, int number) implements WorkerLink {
        @Override
        public @Nullable Instant deadline() {
            return null;
        }

        @Override
        public int streams() {
            return 3;
        }

        @Override
        public SocketAddress remoteAddress() {
            return new InetSocketAddress(0);
        }

        @Override
        public void drain(DrainCode reason, Duration grace) {}

        @Override
        public void goodbye(String text) {}

        @Override
        public void dismiss(String text) {}

        @Override
        public void tellShare(int connections) {}

        @Override
        public void onPeersChanged() {}
    }

    private static Hello hello() {
        return new Hello(1, 1, 3, Hello.NO_DEADLINE, "test", "", "", "");
    }

    /** Nobody says for how long a worker may live that runs on another machine of the fleet. */
    @Test
    void should_not_take_a_worker_of_the_fleet_for_a_base_worker() {
        assertThat(registry.onHello(new Link(TOKEN.workerId(), pool, 1), hello()))
                .isEqualTo(WorkerKind.LAUNCHED);
        assertThat(registry.onHello(new Link("other", pool, 1), hello())).isEqualTo(WorkerKind.BASE);
    }

    @Test
    void should_count_the_streams_of_all_ready_connections_of_a_base_worker() {
        LaunchSupervisor supervisor = Objects.requireNonNull(supervisors.get("f"));
        supervisor.start(List.of());
        loop.runPendingTasks();
        List<Link> links = List.of(new Link("base", pool, 1), new Link("base", pool, 2), new Link("base", pool, 3));
        for (int i = 0; i < links.size(); i++) {
            LaunchToken token = new LaunchToken("f", "base", Instant.now().plusSeconds(60));
            assertThat(registry.admit(token, links.get(i), false)).isNull();
            registry.onHello(links.get(i), hello());
        }
        links.forEach(link -> registry.onReadiness(link, true));
        assertThat(baseSoon(supervisor)).isEqualTo(new CapacitySnapshot.Base(1, 9, 0, 0, "", null));

        registry.onReadiness(links.get(0), false);
        assertThat(baseSoon(supervisor)).isEqualTo(new CapacitySnapshot.Base(1, 6, 0, 0, "", null));

        registry.onGone(links.get(1), Departure.LOST, "for the test");
        assertThat(baseSoon(supervisor)).isEqualTo(new CapacitySnapshot.Base(1, 3, 0, 0, "", null));
    }

    /** Returns the base before the next sample of the pool, which comes once a second. */
    private CapacitySnapshot.@Nullable Base baseSoon(LaunchSupervisor supervisor) {
        loop.runPendingTasks();
        loop.advanceTimeBy(100, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
        loop.runPendingTasks();
        return supervisor.snapshot().base();
    }

    /** Otherwise, a worker that has dialled in again could count as gone. */
    @Test
    void should_tell_news_of_a_worker_with_the_lock_so_that_they_arrive_in_order() {
        List<WorkerRegistry> made = new ArrayList<>();
        List<Boolean> locked = new ArrayList<>();
        Map<String, LaunchSupervisor> watched = new HashMap<>() {
            @Override
            public LaunchSupervisor get(Object function) {
                locked.add(Thread.holdsLock(made.get(0)));
                return super.get(function);
            }
        };
        WorkerRegistry own = new WorkerRegistry(watched, Incidents.unobserved(), ticker);
        made.add(own);
        List<Link> links = List.of(new Link("w", pool, 1), new Link("w", pool, 2));
        for (Link link : links) {
            own.admit(new LaunchToken("f", "w", Instant.now().plusSeconds(60)), link, false);
            own.onHello(link, hello());
            own.onReadiness(link, true);
        }
        own.onReadiness(links.get(0), false);
        own.onLoad(links.get(0), new ControlMessage.Load(0, 0, 0, 0));
        own.onDrain(links.get(0), DrainCode.REQUESTED);
        links.forEach(link -> own.onGone(link, Departure.LOST, "for the test"));
        assertThat(locked).hasSizeGreaterThan(6).containsOnly(true);
    }

    @Test
    void should_forget_how_long_a_worker_waited_if_it_stops_dialling() {
        dialIn();
        ticker.advance(1, TimeUnit.HOURS);
        assertThat(dialIn()).returns(null, Refusal::rejection);
    }
}
