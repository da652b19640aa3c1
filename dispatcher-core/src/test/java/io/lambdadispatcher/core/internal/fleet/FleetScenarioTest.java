package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.Kind;
import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedDispatcher;
import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedWorker;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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
        fleetOf(dispatchers, new Kind(maxWorkers, 300, 0, LIFE, false, false, 0), streams);
    }

    private void fleetOf(int dispatchers, Kind kind, double streams) {
        fleet = new SimulatedFleet(7, kind);
        fleet.streams = streams;
        for (int i = 0; i < dispatchers; i++) {
            fleet.start();
        }
        pass(30);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    private void pass(int seconds) {
        fleet.pass(seconds * SECOND);
    }

    private void fleetWithVersion(int maxWorkers) {
        fleetWithVersion(maxWorkers, 7);
    }

    private void fleetWithVersion(int maxWorkers, int seed) {
        fleet = new SimulatedFleet(seed, new Kind(maxWorkers, 300, 0, LIFE, false, false, 0));
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

    /** The watched workers must fit into the maximum, too. */
    @ParameterizedTest
    @ValueSource(ints = {9, 50})
    void should_change_the_version_of_all_workers_once(int maxWorkers) {
        fleetWithVersion(maxWorkers);
        long before = workersOf("7");
        int launches = fleet.launches;

        fleet.alias = "8";
        pass(60);
        assertThat(rollout()).startsWith("WATCHING\t7\t8\t10\t");
        assertThat(workersOf("8")).as("launched by one dispatcher").isEqualTo(1);
        passWhileDemandIsMet(400);

        assertThat(rollout()).startsWith("STEADY\t8\t");
        assertThat(workersOf("7")).isZero();
        assertThat(fleet.launches - launches).isBetween((int) before - 1, (int) before + 4);
    }

    /** It does not replace an ordinary worker, so the other dispatchers must not drain one. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void should_drain_no_worker_while_the_watched_one_of_another_dispatcher_starts(int seed) {
        fleetWithVersion(50, seed);
        pass(60);
        long before = workersOf("7");
        fleet.alias = "8";
        for (int i = 0; i < 120; i++) {
            fleet.pass(SECOND / 4);
            assertThat(workersOf("7"))
                    .as("%s, after %d quarters of a second", rollout(), i)
                    .isEqualTo(before);
        }
        assertThat(rollout()).startsWith("WATCHING\t7\t8\t10\t");
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

    /**
     * The one that conducts the change dies, and so does the one that launches the watched workers.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void should_continue_a_change_of_the_version_when_a_dispatcher_dies(int dies) {
        fleetWithVersion(50);
        fleet.alias = "8";
        pass(60);
        assertThat(rollout()).startsWith("WATCHING\t7\t8\t10\t");
        fleet.dispatchers.get(dies).kill();
        pass(500);

        assertThat(rollout()).startsWith("STEADY\t8\t");
        assertThat(workersOf("7")).isZero();
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /** The alias does not move. The base dials the dispatchers that replace the others late. */
    @ParameterizedTest
    @ValueSource(longs = {2, 8, 60})
    void should_keep_the_version_of_the_base_when_all_dispatchers_are_replaced(long seconds) {
        fleetWithVersion(50);
        fleet.base = "8";
        pass(200);
        assertThat(rollout()).startsWith("STEADY\t8\t");
        assertThat(workersOf("7")).isZero();
        fleet.baseDialsNanos = seconds * SECOND;
        List<SimulatedDispatcher> old = List.copyOf(fleet.dispatchers);
        fleet.start();
        fleet.start();
        pass(5);
        old.forEach(SimulatedDispatcher::kill);
        fleet.streams = 150;
        for (int i = 0; i < 100; i++) {
            pass(1);
            assertThat(rollout()).as("after %d s", i).startsWith("STEADY\t8\t");
            assertThat(workersOf("7")).isZero();
        }
        assertThat(fleet.differences).isEmpty();
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

    /** Its workers end with it. Slots that remained would block those of its successor. */
    @Test
    void should_leave_no_slot_when_the_last_dispatcher_leaves() {
        fleetOf(1, 8, 60);
        assertThat(fleet.budget().slots()).isNotEmpty();
        for (int restarts = 0; restarts < 3; restarts++) {
            fleet.dispatchers.get(restarts).leave();
            pass(6);
            assertThat(fleet.budget().slots()).isEmpty();
            assertThat(fleet.store.entries.keySet()).noneMatch(key -> key.startsWith("member/"));
            fleet.start();
            pass(20);
            assertThat(fleet.isDemandMet()).isTrue();
        }
    }

    /** Its workers stay with the successor. */
    @Test
    void should_leave_when_a_successor_starts_while_it_closes() {
        fleetOf(1, 8, 60);
        SimulatedDispatcher one = fleet.dispatchers.get(0);
        one.member.beginLeaving();
        fleet.start();
        pass(4);
        assertThat(fleet.store.entries).doesNotContainKey("member/" + one.member.id);
    }

    /** Each call takes nearly as long as it may. */
    @Test
    void should_launch_workers_while_the_ledger_is_slow() {
        fleet = new SimulatedFleet(7, new Kind(8, 300, 0, LIFE, false, false, 0));
        fleet.streams = 60;
        for (int i = 0; i < 2; i++) {
            fleet.start().ledger.slowNanos = 2600 * SECOND / 1000;
        }
        pass(90);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    @Test
    void should_leave_no_entry_when_it_leaves_while_it_writes() {
        fleetOf(2, 4, 10);
        for (int millis = 0; millis < 40; millis++) {
            SimulatedDispatcher one = fleet.start();
            fleet.time.runUntil(fleet.time.nanos() + 2 * SECOND + millis * SECOND / 1000);
            one.leave();
            pass(3);

            assertThat(fleet.store.entries).doesNotContainKey("member/" + one.member.id);
        }
    }

    @Test
    void should_exceed_nothing_when_a_dispatcher_stands_still() {
        fleetOf(3, 8, 70);
        SimulatedDispatcher one = fleet.dispatchers.get(0);

        one.pause(20 * SECOND, false);
        pass(60);

        assertThat(fleet.isDemandMet()).isTrue();
        assertThat(fleet.budget().workers()).isLessThanOrEqualTo(8);
        assertThat(one.connected).hasSize(fleet.workers.size());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_tell_of_the_ledger_at_the_start_only_if_it_cannot_be_reached(boolean isDown) {
        fleet = new SimulatedFleet(7, new Kind(20, 300, 0, LIFE, false, false, 0));
        fleet.setDown(isDown);
        FleetFunction function = fleet.start().fleetFunction;
        assertThat(function.obstacle()).isNull();
        pass(10);
        assertThat(function.obstacle())
                .isEqualTo(isDown ? "launching is blocked because the ledger of the fleet cannot be reached" : null);
    }

    /** Each deployment does both, so a line in the log would be a false alarm. */
    @Test
    void should_not_tell_of_the_ledger_while_a_dispatcher_starts_and_another_one_leaves() {
        fleetOf(2, 20, 60);
        SimulatedDispatcher leaving = fleet.dispatchers.get(0);
        SimulatedDispatcher starting = fleet.start();
        leaving.leave();
        for (int i = 0; i < 200; i++) {
            fleet.pass(SECOND / 20);
            assertThat(List.of(starting, leaving))
                    .allSatisfy(each -> assertThat(each.fleetFunction.obstacle())
                            .isNotEqualTo("launching is blocked because the ledger of the fleet cannot be reached"));
        }
    }

    /**
     * Otherwise, only metrics and the live page would tell of a dispatcher that has crashed. Its
     * entry is removed after a minute.
     */
    @ParameterizedTest
    @ValueSource(ints = {20, 120})
    void should_log_once_that_a_dispatcher_is_silent_and_that_it_is_back(int pausedSeconds) {
        fleetOf(2, 8, 20);
        SimulatedDispatcher one = fleet.dispatchers.get(0);
        List<ILoggingEvent> log = logged(() -> {
            one.pause(pausedSeconds * SECOND, false);
            pass(pausedSeconds + 20);
        });

        String id = one.member.id;
        assertThat(log)
                .filteredOn(line -> line.getLevel() == Level.WARN)
                .singleElement()
                .asString()
                .contains("dispatcher " + id + " of the fleet is silent, and the others take over its workers");
        assertThat(log)
                .filteredOn(line -> line.toString().contains("dispatcher " + id + " of the fleet is back"))
                .hasSize(1);
    }

    /** All have been killed before, and the entries that they have left are no news. */
    @Test
    void should_warn_of_no_dispatcher_that_had_ended_before() {
        fleetOf(2, 8, 20);
        fleet.dispatchers.forEach(SimulatedDispatcher::kill);
        pass(30);
        List<ILoggingEvent> log = logged(() -> {
            fleet.start();
            pass(20);
        });

        assertThat(log).filteredOn(line -> line.getLevel() == Level.WARN).isEmpty();
        assertThat(log)
                .filteredOn(line -> line.toString().contains("has been silent since before this one started"))
                .hasSize(2);
    }

    /** An operator who looks for the words of the log finds them in troubleshoot.md. */
    @Test
    void should_warn_of_entries_that_cannot_be_read_or_are_not_of_the_fleet() {
        fleetOf(2, 8, 20);
        List<ILoggingEvent> log = logged(() -> {
            fleet.store.entries.put("member/newer", new Ledger.Entry("member/newer", 1, "what a newer one writes"));
            fleet.store.entries.put("member/other", new Ledger.Entry("member/other", 1, ""));
            pass(5);
        });

        assertThat(log)
                .filteredOn(line -> line.getLevel() == Level.WARN)
                .extracting(ILoggingEvent::getFormattedMessage)
                .anyMatch(line -> line.startsWith("the entry 'member/newer' of the ledger cannot be read: "))
                .anyMatch(line -> line.startsWith("1 entry of the ledger is ignored, because no dispatcher with the"
                        + " secret of this fleet has written it, such as 'member/other'."))
                .hasSize(4);

        List<ILoggingEvent> later = logged(() -> {
            fleet.store.entries.put("member/third", new Ledger.Entry("member/third", 1, ""));
            fleet.store.entries.put("member/fourth", new Ledger.Entry("member/fourth", 1, ""));
            pass(5);
        });
        assertThat(later)
                .extracting(ILoggingEvent::getFormattedMessage)
                .anyMatch(line -> line.startsWith("2 entries of the ledger are ignored, because no dispatcher with the"
                        + " secret of this fleet has written them, such as '"));
    }

    private static List<ILoggingEvent> logged(Runnable events) {
        try (LoggedLines log = LoggedLines.of(FleetMember.class, Level.INFO)) {
            events.run();
            return log.events();
        }
    }

    @Test
    void should_serve_without_the_ledger_and_launch_again_with_it() {
        fleetOf(3, 20, 50);
        int launches = fleet.launches;

        fleet.setDown(true);
        pass(10);
        fleet.streams = 150;
        pass(110);

        assertThat(fleet.launches).isEqualTo(launches);
        assertThat(fleet.workers).hasSize(launches);
        assertThat(fleet.dispatchers)
                .allSatisfy(each -> assertThat(each.fleetFunction.obstacle())
                        .isEqualTo("launching is blocked because the ledger of the fleet cannot be reached"));

        fleet.setDown(false);
        pass(10);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /**
     * Each time, two seconds without the ledger count. So the others can take a dispatcher for gone
     * although the ledger was up for less than its lease.
     */
    @Test
    void should_adopt_workers_after_several_failures_of_the_ledger_only_when_the_lease_has_ended() {
        fleetOf(3, 8, 60);
        SimulatedDispatcher one = fleet.dispatchers.stream()
                .filter(each -> slotsOf(each.member.id) > 0)
                .findFirst()
                .orElseThrow();
        String owner = one.member.id;
        fleet.pass(SECOND / 10);
        long upNanos = fleet.upNanos();
        one.ledger.cutOff = true;
        pass(1);
        for (int i = 0; i < 4; i++) {
            assertThat(slotsOf(owner)).isPositive();
            fleet.setDown(true);
            // Calls fail after 3 s. The next ones are made when the ledger is up again.
            fleet.pass(69 * SECOND / 10);
            fleet.setDown(false);
            fleet.pass(SECOND / 10);
        }
        pass(1);
        assertThat(fleet.upNanos() - upNanos).isLessThan(FleetMember.LEASE_NANOS);
        assertThat(one.member.isLeaseValid()).isFalse();
        assertThat(slotsOf(owner)).isZero();

        one.ledger.cutOff = false;
        pass(10);
        assertThat(one.member.isLeaseValid()).isTrue();
        assertThat(one.connected).hasSize(fleet.workers.size());
        assertThat(fleet.isDemandMet()).isTrue();
    }

    private long slotsOf(String owner) {
        return fleet.budget().slots().values().stream()
                .filter(slot -> slot.owner().equals(owner))
                .count();
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

    /** It is no sign of life, and names no addresses for workers. */
    @Test
    void should_not_take_for_a_dispatcher_what_no_dispatcher_has_written() {
        fleetOf(2, 20, 70);
        String gone = fleet.dispatchers.get(0).member.id;
        FleetMember other = fleet.dispatchers.get(1).member;
        int known = other.snapshot().members().size();
        put("member/forged", 1, "");
        pass(3);
        assertThat(other.snapshot().members()).hasSize(known);

        fleet.dispatchers.get(0).ledger.cutOff = true;
        // The other one reads its last beat, before that is overwritten.
        pass(2);
        for (int i = 0; i < 15; i++) {
            put("member/" + gone, 1_000_000 + i, "");
            pass(1);
        }
        assertThat(other.isAlive(gone)).isFalse();
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
            assertThat(each.fleetFunction.obstacle())
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
        fleet.dispatchers.get(1).setLaunching(false);
        pass(2);
        assertThat(fleet.dispatchers)
                .allSatisfy(
                        each -> assertThat(each.controller.permitsOverflow()).isFalse());

        fleet.streams = 150;
        fleet.dispatchers.get(1).kill();
        fleet.start();
        pass(60);
        assertThat(fleet.launches).isEqualTo(launches);

        fleet.dispatchers.get(0).setLaunching(true);
        pass(10);
        assertThat(fleet.serving())
                .allSatisfy(
                        each -> assertThat(each.controller.permitsOverflow()).isTrue());
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /** Three workers of 1 GB are paid for. What exceeds them must not be invoked directly. */
    @Test
    void should_not_let_requests_overflow_at_the_spending_limit_of_the_fleet() {
        fleet = new SimulatedFleet(7, new Kind(20, 300, 3 * LIFE.toSeconds(), LIFE, false, false, 0));
        fleet.streams = 100;
        for (int i = 0; i < 3; i++) {
            fleet.start();
        }
        pass(60);
        assertThat(fleet.launches).isLessThan(4);
        assertThat(fleet.dispatchers)
                .allSatisfy(
                        each -> assertThat(each.controller.permitsOverflow()).isFalse());
    }

    /** A command that nobody had to write must not be written later, against a newer one. */
    @Test
    void should_obey_the_latest_command_after_the_same_one_was_given_twice() {
        fleetOf(2, 20, 50);
        fleet.dispatchers.get(0).setLaunching(false);
        pass(2);
        fleet.dispatchers.get(1).setLaunching(false);
        pass(2);
        fleet.dispatchers.get(0).setLaunching(true);
        pass(5);

        assertThat(fleet.budget().isLaunching()).isTrue();
        fleet.streams = 150;
        pass(10);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /** What the dispatcher has read, or reads now, can be older than the other command. */
    @Test
    void should_obey_a_command_right_after_another_dispatcher_has_written_the_opposite() {
        fleetOf(2, 20, 50);
        for (int millis = -25; millis < 25; millis++) {
            // Both read the ledger in each whole second.
            long wholeSecond = (fleet.time.nanos() / SECOND + 2) * SECOND;
            fleet.time.runUntil(wholeSecond + millis * SECOND / 1000);
            fleet.dispatchers.get(0).setLaunching(false);
            for (int i = 0; i < 3000 && fleet.budget().isLaunching(); i++) {
                fleet.time.runUntil(fleet.time.nanos() + SECOND / 1000);
            }
            assertThat(fleet.budget().isLaunching()).isFalse();
            fleet.dispatchers.get(1).setLaunching(true);
            pass(3);

            assertThat(fleet.budget().isLaunching()).isTrue();
        }
    }

    @Test
    void should_delay_the_launches_of_all_dispatchers_after_one_was_throttled() {
        fleetOf(3, 20, 50);
        int launches = fleet.launches;
        fleet.dispatchers.get(0).fleetFunction.hold(30 * SECOND);
        pass(2);

        fleet.streams = 150;
        pass(24);
        assertThat(fleet.launches).isEqualTo(launches);
        assertThat(fleet.dispatchers)
                .allSatisfy(each -> assertThat(each.fleetFunction.obstacle())
                        .isEqualTo("launching is delayed because launches of the fleet were throttled"));

        pass(15);
        assertThat(fleet.isDemandMet()).isTrue();
    }

    /** Otherwise each would drain one worker for the same surplus. */
    @Test
    void should_let_one_dispatcher_scale_in_at_a_time() {
        fleetOf(4, 20, 50);
        assertThat(turns()).hasSize(4);

        // A dead one and one without a lease have no turn, and take none from the others.
        fleet.dispatchers.get(0).kill();
        fleet.dispatchers.get(1).ledger.cutOff = true;
        pass(12);
        assertThat(fleet.dispatchers.get(2).peers)
                .doesNotContain(fleet.dispatchers.get(0).address)
                .hasSize(2);
        assertThat(turns())
                .containsExactlyInAnyOrder(fleet.dispatchers.get(2).member.id, fleet.dispatchers.get(3).member.id);
    }

    /** Returns who may scale in within some seconds. There must be one in each. */
    private Set<String> turns() {
        Set<String> all = new HashSet<>();
        for (int i = 0; i < 12; i++) {
            pass(1);
            List<String> now = fleet.serving().stream()
                    .filter(each -> each.fleetFunction
                            .view(each.controller.workers().ids())
                            .mayScaleIn())
                    .map(each -> each.member.id)
                    .toList();
            assertThat(now).hasSize(1);
            all.addAll(now);
        }
        return all;
    }

    @Test
    void should_change_no_budget_while_nothing_changes() {
        fleetOf(3, 20, 50);
        pass(30);
        long version = fleet.store.entries.get("function/f").version();
        long writes = fleet.store.writes;
        long reads = fleet.store.reads;

        pass(100);

        assertThat(fleet.store.entries.get("function/f").version()).isEqualTo(version);
        assertThat(fleet.store.writes - writes).isBetween(290L, 303L);
        assertThat(fleet.store.reads - reads).isBetween(290L, 303L);
    }

    @Test
    void should_write_again_immediately_after_a_conflict() {
        fleetOf(2, 20, 50);
        fleet.time.runUntil(fleet.time.nanos() + SECOND / 3);
        SimulatedDispatcher throttled = fleet.dispatchers.get(0);
        throttled.fleetFunction.hold(30 * SECOND);
        throttled.fleetFunction.flush();
        fleet.dispatchers.get(1).setLaunching(false);

        fleet.time.runUntil(fleet.time.nanos() + SECOND / 5);

        assertThat(fleet.store.conflicts).isPositive();
        assertThat(fleet.budget().isLaunching()).isFalse();
        Budget launching = fleet.budget().copy();
        launching.setLaunching(true);
        assertThat(launching.obstacle(fleet.time.millis(), fleet.limits)).contains("were throttled");
    }

    @Test
    void should_not_conflict_with_itself() {
        fleetOf(1, 60, 8);
        for (int i = 1; i < 10; i++) {
            fleet.streams = i % 3 * 200;
            pass(10);
        }

        assertThat(fleet.store.conflicts).isZero();
    }

    @Test
    void should_let_one_dispatcher_be_first() {
        fleetOf(3, 4, 10);
        SimulatedDispatcher first = fleet.dispatchers.stream()
                .filter(each -> each.fleetFunction.isFirst())
                .findAny()
                .orElseThrow();

        first.ledger.cutOff = true;
        pass(12);

        assertThat(fleet.dispatchers.stream().filter(each -> each.fleetFunction.isFirst()))
                .hasSize(1)
                .doesNotContain(first);
    }

    /** A frozen machine stops the monotonic clock. The time service can set the other one back. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_lose_the_lease_by_either_clock(boolean frozen) {
        fleetOf(2, 4, 10);
        SimulatedDispatcher one = fleet.dispatchers.get(0);
        one.pause(20 * SECOND, frozen);
        one.aheadMillis = frozen ? 0 : -60_000;
        boolean[] valid = {true};
        fleet.time.after(20 * SECOND + 1, () -> valid[0] = one.member.isLeaseValid());

        pass(25);

        assertThat(valid[0]).isFalse();
        assertThat(one.member.isLeaseValid()).isTrue();
    }

    @Test
    void should_replace_the_workers_of_a_budget_that_an_operator_has_removed() {
        fleetOf(3, 20, 50);
        List<SimulatedWorker> before = List.copyOf(fleet.workers.values());

        fleet.removeBudget();
        pass(20);

        assertThat(before).allSatisfy(worker -> assertThat(worker.hasExited()).isTrue());
        assertThat(fleet.isDemandMet()).isTrue();
    }

    private static Kind local(int maxWorkers, double gbSeconds) {
        return new Kind(maxWorkers, 300, gbSeconds, Duration.ofSeconds(130), true, false, 0);
    }

    @Test
    void should_keep_local_workers_whose_next_life_is_paid() {
        fleetOf(2, local(8, 0), 60);
        pass(30);
        int launches = fleet.launches;

        pass(600);

        assertThat(fleet.launches).isEqualTo(launches);
        assertThat(fleet.budget().slots()).hasSameSizeAs(fleet.workers);
    }

    @Test
    void should_drain_local_workers_whose_next_life_cannot_be_paid() {
        fleetOf(2, local(8, 8 * (10 + 15 + 130) + 20), 70);
        assertThat(fleet.budget().slots()).hasSize(8);

        pass(90);
        assertThat(fleet.workers).hasSize(8);
        pass(60);

        assertThat(fleet.workers).isEmpty();
        fleet.invariants.checkSpending();
    }

    /** The zone of one dispatcher and one worker is cut off from the others and the ledger. */
    @Test
    void should_keep_the_slot_of_a_worker_that_its_launcher_has_lost() {
        fleetOf(2, 2, 15);
        SimulatedWorker worker = fleet.workers.values().iterator().next();
        SimulatedDispatcher owner =
                fleet.dispatcher(fleet.budget().slot(worker.id).owner());
        SimulatedDispatcher other = fleet.dispatchers.get(fleet.dispatchers.indexOf(owner) == 0 ? 1 : 0);

        other.ledger.cutOff = true;
        worker.cutOff(owner, 120 * SECOND);
        pass(60);

        assertThat(worker.connections).containsOnlyKeys(other);
        assertThat(worker.lost).isTrue();
        assertThat(fleet.budget().slot(worker.id)).matches(Slot::replaced);

        other.ledger.cutOff = false;
        pass(10);
        assertThat(worker.hasExited()).isTrue();
        assertThat(fleet.isDemandMet()).isTrue();
    }

    @Test
    void should_accept_a_worker_elsewhere_only_after_it_has_connected_to_its_launcher() {
        fleetOf(2, 4, 0);
        fleet.streams = 30;
        boolean seen = false;
        for (int i = 0; i < 1000 && !seen; i++) {
            fleet.time.runUntil(fleet.time.nanos() + SECOND / 100);
            for (String id : fleet.budget().slots().keySet()) {
                seen |= fleet.budget().slot(id).seen();
                if (!fleet.budget().slot(id).seen()) {
                    assertThat(fleet.dispatchers)
                            .allSatisfy(each ->
                                    assertThat(each.fleetFunction.slotState(id)).isEqualTo(SlotState.NOT_KNOWN));
                }
            }
        }
        assertThat(seen).isTrue();

        // It asks several times before the next beat of the others.
        Set<String> ids = new HashSet<>(fleet.budget().slots().keySet());
        ids.removeIf(id -> !fleet.budget().slot(id).seen());
        for (int i = 0; i < 6; i++) {
            fleet.dispatchers.forEach(each -> ids.forEach(each.fleetFunction::slotState));
            fleet.time.runUntil(fleet.time.nanos() + SECOND / 20);
        }

        assertThat(ids)
                .isNotEmpty()
                .allSatisfy(id -> assertThat(fleet.dispatchers)
                        .allSatisfy(each ->
                                assertThat(each.fleetFunction.slotState(id)).isEqualTo(SlotState.GRANTED)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_replace_workers_that_nobody_adopts(boolean leaves) {
        fleetOf(2, 4, 0);
        fleet.streams = 30;
        while (fleet.launches == 0) {
            fleet.time.runUntil(fleet.time.nanos() + SECOND / 100);
        }
        // Its workers start, and find nobody.
        String orphan = fleet.everLaunched.keySet().iterator().next();
        String owner = fleet.budget().slot(orphan).owner();
        if (leaves) {
            fleet.dispatcher(owner).leave();
        } else {
            fleet.dispatcher(owner).kill();
        }
        pass(30);

        assertThat(fleet.isDemandMet()).isTrue();
        assertThat(fleet.budget().slot(orphan)).matches(Slot::replaced);
        assertThat(fleet.serving().get(0).fleetFunction.slotState(orphan)).isEqualTo(SlotState.ENDED);
    }
}
