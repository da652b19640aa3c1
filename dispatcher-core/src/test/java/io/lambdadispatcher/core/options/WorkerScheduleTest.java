package io.lambdadispatcher.core.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lambdadispatcher.wire.testkit.EachRelease;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@EachRelease
class WorkerScheduleTest {
    private static WorkerSchedule schedule(String... entries) {
        return WorkerSchedule.parse(List.of(entries));
    }

    private static int workers(WorkerSchedule schedule, String time) {
        return schedule.workers(Instant.parse(time), workers -> Duration.ZERO);
    }

    private static int workers(String entry, String time) {
        return workers(schedule(entry), time);
    }

    /** 1 December 2025 is a Monday. */
    @ParameterizedTest
    @CsvSource({
        "* * * * *,             2025-12-01T07:00:00Z, 9",
        "0 8 * * *,             2025-12-01T07:59:59Z, 0",
        "0 8 * * *,             2025-12-01T08:00:00Z, 9",
        "0 8 * * *,             2025-12-01T08:29:59Z, 9",
        "0 8 * * *,             2025-12-01T08:30:00Z, 0",
        "50 23 31 12 *,         2026-01-01T00:19:00Z, 9",
        "*/15 * * * *,          2025-12-01T07:00:00Z, 9",
        "0 6-12/3 * * *,        2025-12-01T12:00:00Z, 9",
        "0 6-12/3 * * *,        2025-12-01T11:00:00Z, 0",
        "'0 6,9 * * *',         2025-12-01T09:10:00Z, 9",
        "0 8 * * 1-5,           2025-12-05T08:00:00Z, 9",
        "0 8 * * 1-5,           2025-12-06T08:00:00Z, 0",
        "0 8 * * sun,           2025-12-07T08:00:00Z, 9",
        "0 8 * * 0,             2025-12-07T08:00:00Z, 9",
        "0 8 * * 6-7,           2025-12-07T08:00:00Z, 9",
        "0 8 * JAN-MAR *,       2025-12-01T08:00:00Z, 0",
        "0 8 29 2 *,            2028-02-29T08:00:00Z, 9",
        // As in crontab(5), one of two days is enough.
        "0 8 13 * 5,            2025-12-05T08:00:00Z, 9",
        "0 8 13 * 5,            2025-12-13T08:00:00Z, 9",
        "0 8 13 * 5,            2025-12-14T08:00:00Z, 0",
        "0 8 */2 * 5,           2025-12-12T08:00:00Z, 0",
    })
    void should_apply_from_each_start_on_for_its_duration(String cron, String time, int expected) {
        assertThat(workers("9 at " + cron + " for 30m in UTC", time)).isEqualTo(expected);
    }

    @Test
    void should_follow_the_time_of_its_zone() {
        String entry = "9 at 0 8 * * * for 1h in Europe/Berlin";
        assertThat(workers(entry, "2025-07-01T06:00:00Z")).isEqualTo(9);
        assertThat(workers(entry, "2025-12-01T06:30:00Z")).isZero();
        assertThat(workers(entry, "2025-12-01T07:00:00Z")).isEqualTo(9);
    }

    /** The clock shows 3:00 after 1:59 on 30 March 2025, and 2:00 to 2:59 twice on 26 October. */
    @ParameterizedTest
    @CsvSource({
        "2025-03-30T00:59:00Z, 0",
        "2025-03-30T01:00:00Z, 9",
        "2025-03-30T01:19:59Z, 9",
        "2025-03-30T01:20:00Z, 0",
        "2025-10-26T00:30:00Z, 9",
        "2025-10-26T00:50:00Z, 0",
        "2025-10-26T01:30:00Z, 9",
        "2025-10-26T01:50:00Z, 0",
    })
    void should_lose_no_start_when_the_clock_changes(String time, int expected) {
        assertThat(workers("9 at 30 2 * * * for 20m in Europe/Berlin", time)).isEqualTo(expected);
    }

    @Test
    void should_take_the_largest_of_those_that_apply() {
        WorkerSchedule schedule = schedule("9 at 0 8 * * * for 2h in UTC", "20 at 0 9 * * * for 30m in UTC");
        assertThat(workers(schedule, "2025-12-01T08:59:00Z")).isEqualTo(9);
        assertThat(workers(schedule, "2025-12-01T09:00:00Z")).isEqualTo(20);
        assertThat(workers(schedule, "2025-12-01T09:30:00Z")).isEqualTo(9);
        assertThat(schedule.largest()).isEqualTo(20);
    }

    @Test
    void should_begin_earlier_by_the_lead_of_its_number() {
        WorkerSchedule schedule = schedule("9 at 0 8 * * * for 1h in UTC", "20 at 0 8 * * * for 1h in UTC");
        Instant early = Instant.parse("2025-12-01T07:59:45Z");
        assertThat(schedule.workers(early, Duration::ofSeconds)).isEqualTo(20);
        assertThat(schedule.workers(early.minusSeconds(6), Duration::ofSeconds)).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "20",
                "20 at 0 8 * * 1-5 for 2h",
                "0 at 0 8 * * 1-5 for 2h in UTC",
                "100001 at 0 8 * * 1-5 for 2h in UTC",
                "20 at 0 8 * * for 2h in UTC",
                "20 at 0 0 8 * * * for 2h in UTC",
                "20 at 60 8 * * * for 2h in UTC",
                "20 at 0 24 * * * for 2h in UTC",
                "20 at 0 8 0 * * for 2h in UTC",
                "20 at 0 8 * 13 * for 2h in UTC",
                "20 at 0 8 * * 8 for 2h in UTC",
                "20 at 0 8 * * MO for 2h in UTC",
                "20 at 0 8 * * 5-1 for 2h in UTC",
                "20 at 0/5 8 * * * for 2h in UTC",
                "20 at */0 8 * * * for 2h in UTC",
                "20 at 0, 8 * * * for 2h in UTC",
                "20 at 0 8 31 2,4 * for 2h in UTC",
                "20 at @daily for 2h in UTC",
                "20 at 0 8 * * 1-5 for 59s in UTC",
                "20 at 0 8 * * 1-5 for 8d in UTC",
                "20 at 0 8 * * 1-5 for 2h in Berlin",
                "20 at 0 8 * * 1-5 for 2h in Europe/Berlin or so",
            })
    void should_name_a_bad_entry_and_what_was_expected(String entry) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> schedule(entry))
                .withMessageContaining("schedule: " + entry + ", expected ")
                .withMessageContaining("such as 20 at 0 8 * * 1-5 for 2h in Europe/Berlin");
    }

    /** Compares with a search of all minutes, around the changes of clocks. */
    @ParameterizedTest
    @ValueSource(strings = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"})
    void should_be_right_around_each_change_of_the_clock(String name) {
        ZoneId zone = ZoneId.of(name);
        Random random = new Random(name.hashCode());
        Instant change = Instant.parse("2009-01-01T00:00:00Z");
        for (int i = 0; i < 400; i++) {
            ZoneOffsetTransition next = zone.getRules().nextTransition(change);
            change = next == null || i % 20 == 0 ? Instant.parse("2009-01-01T00:00:00Z") : next.getInstant();
            int hour = random.nextInt(24);
            int step = 1 + random.nextInt(59);
            int minutes = 1 + random.nextInt(300);
            Duration lead = Duration.ofSeconds(random.nextInt(600));
            Instant now = change.plusSeconds(random.nextInt(86_400) - 36_000);
            WorkerSchedule schedule =
                    schedule("9 at */" + step + " " + hour + " * * * for " + minutes + "m in " + name);

            boolean expected = false;
            Instant from = now.minus(Duration.ofMinutes(minutes)).truncatedTo(ChronoUnit.MINUTES);
            for (Instant at = from.plusSeconds(60); !at.isAfter(now.plus(lead)); at = at.plusSeconds(60)) {
                expected |= isStart(at, zone, hour, step);
            }
            assertThat(schedule.workers(now, workers -> lead))
                    .as("%s: */%d %d, %d min, at %s, lead %s", name, step, hour, minutes, now, lead)
                    .isEqualTo(expected ? 9 : 0);
        }
    }

    private static boolean isStart(Instant at, ZoneId zone, int hour, int step) {
        ZonedDateTime shown = at.atZone(zone);
        boolean start = shown.getHour() == hour && shown.getMinute() % step == 0;
        ZoneOffsetTransition change = zone.getRules().nextTransition(at.minusNanos(1));
        if (change != null && change.getInstant().equals(at) && change.isGap()) {
            LocalDateTime skipped = change.getDateTimeBefore();
            for (; skipped.isBefore(change.getDateTimeAfter()); skipped = skipped.plusMinutes(1)) {
                start |= skipped.getHour() == hour && skipped.getMinute() % step == 0;
            }
        }
        return start;
    }
}
