package io.lambdadispatcher.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TimetableTest {
    @Test
    void should_not_drift_where_the_interval_is_no_whole_number_of_nanoseconds() {
        Timetable timetable = new Timetable(30_000, List.of(1));

        assertThat(timetable.due(0)).isZero();
        assertThat(timetable.due(30_000)).isEqualTo(1_000_000_000L);
        assertThat(timetable.due(30_000L * 3600)).isEqualTo(3600 * 1_000_000_000L);
    }

    @Test
    void should_have_everything_due_at_once_without_a_rate() {
        assertThat(new Timetable(0, List.of(1)).due(1_000_000)).isZero();
    }

    @Test
    void should_give_each_kind_its_share_of_a_round_and_spread_it() {
        Timetable timetable = new Timetable(1, List.of(4, 1, 1));

        List<Integer> round = IntStream.range(0, 6).mapToObj(timetable::kind).toList();

        assertThat(round).containsOnly(0, 1, 2).filteredOn(kind -> kind == 0).hasSize(4);
        assertThat(round.indexOf(1)).isNotEqualTo(round.indexOf(2) - 1).isNotEqualTo(round.indexOf(2) + 1);
        assertThat(IntStream.range(6, 12).mapToObj(timetable::kind).toList()).isEqualTo(round);
    }
}
