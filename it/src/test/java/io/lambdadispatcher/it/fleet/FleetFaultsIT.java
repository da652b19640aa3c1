package io.lambdadispatcher.it.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.it.StartsPrograms;
import io.lambdadispatcher.it.fleet.FleetDrill.Event;
import io.lambdadispatcher.it.fleet.FleetDrill.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Tests a fleet of three dispatchers in processes of their own, under load. */
@StartsPrograms
class FleetFaultsIT {
    /** A busy machine can make a worker seem lost, and another is launched. */
    private static final int MOST_LAUNCHES = 2;

    @BeforeAll
    static void needHaproxy() {
        assumeTrue(
                Files.isExecutable(Path.of("/usr/sbin/haproxy")),
                "skipped: HAProxy is not installed (apt-get install haproxy)");
    }

    @Test
    @EnabledIfSystemProperty(named = "fleet.drill", matches = "true")
    void should_print_what_happens_with_a_fleet_and_without() throws Exception {
        FleetDrill.printTable();
    }

    @Test
    void should_lose_only_what_was_in_flight_when_a_dispatcher_dies() throws Exception {
        Result result = FleetDrill.run(Event.KILL, true, false);

        // HAProxy repeats GETs. At most the requests in flight can be lost, and those that HAProxy
        // sends before it notices.
        assertThat(result.lost().values().stream().mapToInt(Integer::intValue).sum())
                .as(result.losses().toString())
                .isLessThanOrEqualTo(result.inFlight() + 5);
        assertThat(result.lost()).doesNotContainKey("GET");
        assertThat(result.launches()).isLessThanOrEqualTo(MOST_LAUNCHES);
        assertThat(result.mostLasting()).isBetween(1, FleetDrill.MAX_WORKERS);
        assertThat(result.mostWorkers()).isLessThanOrEqualTo(2 * FleetDrill.MAX_WORKERS);
    }

    @Test
    void should_lose_nothing_when_all_dispatchers_are_replaced() throws Exception {
        Result result = FleetDrill.run(Event.ROLL, true, false);

        assertThat(result.losses()).isEmpty();
        assertThat(result.launches()).isLessThanOrEqualTo(MOST_LAUNCHES);
        assertThat(result.mostLasting()).isBetween(1, FleetDrill.MAX_WORKERS);
        assertThat(result.mostWorkers()).isLessThanOrEqualTo(2 * FleetDrill.MAX_WORKERS);
    }
}
