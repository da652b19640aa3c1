package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedDispatcher;
import io.lambdadispatcher.core.spi.Ledger;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a fleet does when one thing happens, in virtual time. */
class FleetScenarioTest {
    private static final long SECOND = SimulatedFleet.SECOND;

    /**
     * Workers live for longer than the tests, so that each launch has another reason than their
     * age.
     */
    private static final Duration LIFE = Duration.ofMinutes(14);

    private SimulatedFleet fleet;

    private void fleetOf(int dispatchers, int maxWorkers, double streams) {
        fleet = new SimulatedFleet(7, maxWorkers, 0, LIFE);
        fleet.streams = streams;
        for (int i = 0; i < dispatchers; i++) {
            fleet.start();
        }
        pass(30);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    private void pass(int seconds) {
        long end = fleet.time.nanos() + seconds * SECOND;
        while (fleet.time.nanos() < end) {
            fleet.time.runUntil(fleet.time.nanos() + SECOND / 10);
            fleet.checkAdmitted();
        }
    }

    private void fleetWithVersion(int maxWorkers) {
        fleet = new SimulatedFleet(7, maxWorkers, 0, LIFE);
        fleet.slowStarts = false;
        fleet.alias = "7";
        fleet.streams = 70;
        for (int i = 0; i < 3; i++) {
            fleet.start();
        }
        pass(30);
        assertThat(fleet.isDemandMet()).isTrue();
        assertThat(rollout()).startsWith("STEADY\t7\t");
    }

    private String rollout() {
        return fleet.budget().rollout();
    }

    private long workersOf(String version) {
        return fleet.workers.values().stream()
                .filter(worker -> worker.version.equals(version) && !worker.draining)
                .count();
    }

    /** The canaries must fit into the maximum, too. */
    @ParameterizedTest
    @ValueSource(ints = {9, 50})
    void should_change_the_version_of_all_workers_once(int maxWorkers) {
        fleetWithVersion(maxWorkers);
        long before = workersOf("7");
        int launches = fleet.launches;

        fleet.alias = "8";
        pass(60);
        assertThat(rollout()).startsWith("CANARY\t7\t8\t");
        assertThat(workersOf("8")).as("launched by one dispatcher").isEqualTo(1);
        passWhileDemandIsMet(400);

        assertThat(rollout()).startsWith("STEADY\t8\t");
        assertThat(workersOf("7")).isZero();
        assertThat(fleet.launches - launches).isBetween((int) before - 1, (int) before + 4);
    }

    private void passWhileDemandIsMet(int seconds) {
        for (int i = 0; i < seconds; i++) {
            pass(1);
            assertThat(fleet.isDemandMet()).as("after %d s", i).isTrue();
        }
    }

    @Test
    void should_stop_for_all_dispatchers_if_the_new_version_fails() {
        fleetWithVersion(50);
        fleet.broken.add("8");
        fleet.alias = "8";
        passWhileDemandIsMet(120);

        assertThat(rollout()).startsWith("STOPPED\t7\t8\t");
        assertThat(workersOf("8")).isZero();
        fleet.streams = 150;
        pass(30);
        assertThat(workersOf("8")).isZero();
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /** The one that conducts the change dies, and so does the one that launches the canaries. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void should_continue_a_change_of_the_version_when_a_dispatcher_dies(int dies) {
        fleetWithVersion(50);
        fleet.alias = "8";
        pass(60);
        assertThat(rollout()).startsWith("CANARY\t7\t8\t");
        fleet.dispatchers.get(dies).kill();
        pass(500);

        assertThat(rollout()).startsWith("STEADY\t8\t");
        assertThat(workersOf("7")).isZero();
        assertThat(fleet.isDemandMet()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    void should_need_as_many_workers_as_one_dispatcher(int dispatchers) {
        fleetOf(1, 50, 95);
        pass(30);
        int alone = fleet.workers.size();
        fleetOf(dispatchers, 50, 95);
        pass(30);

        assertThat(alone).isEqualTo(12);
        assertThat(fleet.workers.size()).isBetween(alone - 1, alone + 1);
        assertThat(fleet.launches).isBetween(alone - 1, alone + 2);
    }

    @Test
    void should_keep_the_workers_of_a_dispatcher_that_dies() {
        fleetOf(3, 20, 70);
        int launches = fleet.launches;

        fleet.dispatchers.get(0).kill();
        pass(60);

        // Its clients may be counted twice for a moment.
        assertThat(fleet.launches).isBetween(launches, launches + 2);
        assertThat(fleet.isDemandMet()).isTrue();
        String dead = fleet.dispatchers.get(0).member.id;
        assertThat(fleet.budget().slots().values()).isNotEmpty().allSatisfy(slot -> {
            assertThat(slot.owner()).isNotEqualTo(dead);
            assertThat(slot.replaced()).isFalse();
        });
    }

    @Test
    void should_keep_all_workers_while_all_dispatchers_are_replaced() {
        fleetOf(3, 8, 60);
        int launches = fleet.launches;
        for (int i = 0; i < 3; i++) {
            fleet.start();
            pass(10);
            fleet.dispatchers.get(i).leave();
            pass(10);
        }

        assertThat(fleet.serving()).hasSize(3);
        assertThat(fleet.launches).isEqualTo(launches);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    @Test
    void should_adopt_at_once_the_workers_of_a_dispatcher_that_leaves() {
        fleetOf(3, 8, 60);
        SimulatedDispatcher leaving = fleet.dispatchers.get(0);

        leaving.leave();
        pass(3);

        assertThat(fleet.store.entries).doesNotContainKey("member/" + leaving.member.id);
        assertThat(fleet.budget().slots().values())
                .isNotEmpty()
                .allSatisfy(slot -> assertThat(slot.owner()).isNotEqualTo(leaving.member.id));
    }

    @Test
    void should_exceed_nothing_when_a_dispatcher_stands_still() {
        fleetOf(3, 8, 70);
        SimulatedDispatcher one = fleet.dispatchers.get(0);

        one.pause(20 * SECOND);
        pass(60);

        assertThat(fleet.isDemandMet()).isTrue();
        assertThat(fleet.budget().workers()).isLessThanOrEqualTo(8);
        assertThat(one.connected).hasSize(fleet.workers.size());
    }

    @Test
    void should_serve_without_the_ledger_and_launch_again_with_it() {
        fleetOf(3, 20, 50);
        int launches = fleet.launches;

        fleet.store.down = true;
        pass(10);
        fleet.streams = 150;
        pass(110);

        assertThat(fleet.launches).isEqualTo(launches);
        assertThat(fleet.workers).hasSize(launches);
        assertThat(fleet.dispatchers)
                .allSatisfy(each -> assertThat(each.share.obstacle())
                        .isEqualTo("launching is blocked because the ledger of the fleet cannot be reached"));

        fleet.store.down = false;
        pass(10);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    private void put(String key, long version, String value) {
        fleet.store.entries.put(key, new Ledger.Entry(key, version, value));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "hello", "{}", "{\"functions\": 7}"})
    void should_launch_beside_the_entry_of_a_member_that_cannot_be_read(String value) {
        fleetOf(3, 20, 50);
        int launches = fleet.launches;

        put("member/broken", 1, value);
        put("note", 1, "");
        pass(10);
        fleet.streams = 150;
        pass(30);

        assertThat(fleet.launches).isGreaterThan(launches);
        assertThat(fleet.isDemandMet()).isTrue();
        assertThat(fleet.dispatchers)
                .allSatisfy(each ->
                        assertThat(each.member.snapshot().unreadable()).containsExactly("member/broken", "note"));

        // Nobody knows what it is, so nobody removes it.
        pass(120);
        assertThat(fleet.store.entries).containsKey("member/broken");
        fleet.store.entries.remove("member/broken");
        pass(3);
        assertThat(fleet.dispatchers)
                .allSatisfy(
                        each -> assertThat(each.member.snapshot().unreadable()).containsExactly("note"));
    }

    /** For example, a dispatcher of a newer version. It still serves with its workers. */
    @Test
    void should_not_adopt_the_workers_of_a_dispatcher_whose_entry_cannot_be_read_but_changes() {
        fleetOf(2, 20, 70);
        String newer = fleet.dispatchers.get(0).member.id;
        FleetMember other = fleet.dispatchers.get(1).member;
        fleet.store.scramble = "member/" + newer;

        pass(30);

        assertThat(other.snapshot().unreadable()).containsExactly("member/" + newer);
        assertThat(other.isAlive(newer)).isTrue();
        assertThat(fleet.budget().slots().values())
                .anySatisfy(slot -> assertThat(slot.owner()).isEqualTo(newer));
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /** The version of what is no entry is not known, and can be the same as before. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void should_keep_the_workers_and_launch_none_while_the_budget_cannot_be_read(int versions) {
        fleetOf(3, 20, 50);
        int launches = fleet.launches;
        Ledger.Entry good = fleet.store.entries.get("function/f");
        put("function/f", good.version() + versions, "");

        pass(10);
        fleet.streams = 150;
        pass(30);

        assertThat(fleet.launches).isEqualTo(launches);
        assertThat(fleet.workers).hasSize(launches);
        assertThat(fleet.workers.values())
                .allSatisfy(worker -> assertThat(worker.draining).isFalse());
        assertThat(fleet.dispatchers).allSatisfy(each -> {
            assertThat(each.member.isLeaseValid()).isTrue();
            assertThat(each.share.obstacle())
                    .startsWith("launching is blocked because the entry 'function/f' of the fleet's ledger");
        });

        put("function/f", good.version() + 2L * versions, good.value());
        pass(10);
        assertThat(fleet.isDemandMet()).isTrue();
        assertThat(fleet.dispatchers)
                .allSatisfy(
                        each -> assertThat(each.member.snapshot().unreadable()).isEmpty());
    }

    @Test
    void should_obey_the_kill_switch_everywhere_and_after_restarts() {
        fleetOf(3, 20, 50);
        int launches = fleet.launches;
        fleet.dispatchers.get(1).share.setLaunching(false);
        pass(2);

        fleet.streams = 150;
        fleet.dispatchers.get(1).kill();
        fleet.start();
        pass(60);
        assertThat(fleet.launches).isEqualTo(launches);

        fleet.dispatchers.get(0).share.setLaunching(true);
        pass(10);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    @Test
    void should_replace_workers_that_nobody_adopts() {
        fleetOf(2, 4, 0);
        fleet.streams = 30;
        while (fleet.launches == 0) {
            fleet.time.runUntil(fleet.time.nanos() + SECOND / 100);
        }
        // Its workers start, and find nobody.
        String owner = fleet.budget().slots().values().iterator().next().owner();
        fleet.dispatchers.stream().filter(each -> each.member.id.equals(owner)).forEach(SimulatedDispatcher::kill);
        pass(30);

        assertThat(fleet.isDemandMet()).isTrue();
    }
}
