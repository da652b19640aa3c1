package io.lambdadispatcher.server.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.server.live.ChangeLog.ChangeKind;
import io.lambdadispatcher.server.live.ChangeLog.LoggedChange;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class ChangeLogTest {
    private Instant now = Instant.EPOCH;
    private final ChangeLog log = new ChangeLog(() -> now);

    private void pass(Duration time) {
        now = now.plus(time);
    }

    @Test
    void should_join_events_of_many_workers() {
        for (int i = 0; i < 500; i++) {
            log.addOfWorker(ChangeKind.LAUNCH, "a", "a-" + i);
            log.addOfWorker(ChangeKind.LAUNCH, "b", "b-" + i);
        }
        log.addOfWorker(ChangeKind.LAUNCH_FAILED, "a", "a-3: out of memory");

        assertThat(log.list())
                .containsExactly(
                        new LoggedChange(now, ChangeKind.LAUNCH_FAILED, "a", 1, "a-3: out of memory"),
                        new LoggedChange(now, ChangeKind.LAUNCH, "b", 500, "b-499"),
                        new LoggedChange(now, ChangeKind.LAUNCH, "a", 500, "a-499"));
    }

    /** Otherwise, a function that always launches would have one endless change. */
    @Test
    void should_begin_another_change_after_ten_seconds() {
        log.addOfWorker(ChangeKind.LAUNCH, "a", "1");
        pass(ChangeLog.TOGETHER);
        log.addOfWorker(ChangeKind.LAUNCH, "a", "2");
        pass(Duration.ofMillis(1));
        log.addOfWorker(ChangeKind.LAUNCH, "a", "3");

        assertThat(log.list())
                .containsExactly(
                        new LoggedChange(now, ChangeKind.LAUNCH, "a", 1, "3"),
                        new LoggedChange(Instant.EPOCH, ChangeKind.LAUNCH, "a", 2, "2"));
    }

    /** A breaker that flaps would displace what else has changed. */
    @Test
    void should_join_the_states_of_one_breaker_within_a_minute() {
        log.add(ChangeKind.RELOAD, "settings");
        for (int second = 0; second < 60; second++) {
            log.addOfBreaker("a", "default", "default " + second);
            log.addOfBreaker("a", "/pay", "pay " + second);
            pass(Duration.ofSeconds(1));
        }
        pass(Duration.ofSeconds(1));
        log.addOfBreaker("a", "default", "default again");

        Instant begin = Instant.EPOCH;
        assertThat(log.list())
                .containsExactly(
                        new LoggedChange(now, ChangeKind.BREAKER, "a", 1, "default again"),
                        new LoggedChange(begin, ChangeKind.BREAKER, "a", 60, "pay 59"),
                        new LoggedChange(begin, ChangeKind.BREAKER, "a", 60, "default 59"),
                        new LoggedChange(begin, ChangeKind.RELOAD, null, 1, "settings"));
    }

    @Test
    void should_keep_the_latest_changes_and_the_start_of_long_texts() {
        for (int i = 0; i < 150; i++) {
            log.add(ChangeKind.COMMAND, "POST /launching?to=off " + i);
        }
        log.add(ChangeKind.RELOAD, "x".repeat(5000));

        List<LoggedChange> all = log.list();
        assertThat(all).hasSize(ChangeLog.SIZE);
        assertThat(all.get(0).text()).hasSize(ChangeLog.MAX_CHARACTERS);
        assertThat(all.get(1).text()).endsWith(" 149");

        log.addOfWorker(ChangeKind.LAUNCH_FAILED, "a", "x".repeat(5000));
        assertThat(log.list().get(0).text()).hasSize(ChangeLog.MAX_CHARACTERS);
    }

    private void versions(RolloutSnapshot.State state, String newVersion, int percent, String reason) {
        log.watchVersions(List.of(new CapacitySnapshot(
                "a",
                1,
                0,
                1,
                0,
                0,
                0,
                0,
                null,
                null,
                null,
                new RolloutSnapshot(state, "1", newVersion, percent, 0, reason),
                null)));
    }

    @Test
    void should_notice_each_step_to_another_version_once() {
        for (int i = 0; i < 3; i++) {
            versions(RolloutSnapshot.State.STEADY, "", 0, "");
        }
        versions(RolloutSnapshot.State.WATCHING, "2", 10, "");
        versions(RolloutSnapshot.State.WATCHING, "2", 10, "");
        versions(RolloutSnapshot.State.WATCHING, "2", 50, "");
        versions(RolloutSnapshot.State.ROLLING, "2", 0, "");
        versions(RolloutSnapshot.State.STOPPED, "2", 0, "its workers fail");

        assertThat(log.list())
                .extracting(LoggedChange::text)
                .containsExactly(
                        "the change to version 2 has stopped: its workers fail",
                        "version 2 replaces version 1",
                        "version 2 is watched with 50 % of the workers",
                        "version 2 is watched with 10 % of the workers");
    }
}
