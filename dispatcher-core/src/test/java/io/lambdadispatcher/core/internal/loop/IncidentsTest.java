package io.lambdadispatcher.core.internal.loop;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Incident.Kind;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class IncidentsTest {
    private final RecordingObserver observer = new RecordingObserver();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final Incidents incidents = new Incidents(observer, ticker);

    private void refuse(String function, String code) {
        incidents.count(Kind.REQUESTS_REFUSED, function, code, () -> "the queue of " + function + " is full");
    }

    private void pass(int seconds) {
        for (int i = 0; i < seconds; i++) {
            ticker.advance(1, TimeUnit.SECONDS);
            incidents.tick();
        }
    }

    private List<String> told() {
        return observer.incidents.stream().map(Incident::toString).toList();
    }

    @Test
    void should_tell_of_many_events_once_when_they_begin_and_once_when_they_end() {
        for (int i = 0; i < 1528; i++) {
            refuse("shop", "queue_full");
            ticker.advance(10, TimeUnit.MILLISECONDS);
            incidents.tick();
        }
        assertThat(told())
                .containsExactly("incident begins: requests of function shop are refused (queue_full):"
                        + " the queue of shop is full");

        pass(29);
        assertThat(told()).hasSize(1);
        pass(2);
        assertThat(told())
                .hasSize(2)
                .last()
                .isEqualTo("incident ends: requests of function shop are refused (queue_full):"
                        + " 1528 requests within 15 s, and it began with: the queue of shop is full");
    }

    @Test
    void should_not_hide_another_cause_or_function_behind_an_incident() {
        refuse("shop", "queue_full");
        refuse("shop", "rate_limited");
        refuse("images", "queue_full");
        refuse("shop", "queue_full");
        assertThat(told()).hasSize(3);
    }

    @Test
    void should_keep_a_state_until_it_has_ended_for_some_seconds() {
        incidents.begin(Kind.LEDGER_UNREACHABLE, "", "", "it cannot be read: timeout");
        pass(100);
        incidents.end(Kind.LEDGER_UNREACHABLE, "", "");
        pass(3);
        incidents.begin(Kind.LEDGER_UNREACHABLE, "", "", "it cannot be read: timeout");
        pass(10);
        assertThat(told())
                .containsExactly("incident begins: the ledger of the fleet cannot be reached, so soon no workers can be"
                        + " launched: it cannot be read: timeout");

        incidents.end(Kind.LEDGER_UNREACHABLE, "", "");
        pass(6);
        assertThat(told())
                .hasSize(2)
                .last()
                .isEqualTo(
                        "incident ends: the ledger of the fleet cannot be reached, so soon no workers can be launched:"
                                + " 113 s, and it began with: it cannot be read: timeout");
    }

    @Test
    void should_count_in_a_state_that_is_counted() {
        for (int i = 0; i < 10; i++) {
            incidents.begin(Kind.WORKERS_EJECTED, "shop", "", "worker " + i + ": 5 of its 5 requests failed");
        }
        pass(60);
        incidents.end(Kind.WORKERS_EJECTED, "shop", "");
        pass(31);
        assertThat(told())
                .hasSize(2)
                .last()
                .isEqualTo("incident ends: workers of function shop are ejected: 10 ejections within 60 s,"
                        + " and it began with: worker 0: 5 of its 5 requests failed");
    }

    @Test
    void should_count_one_in_the_singular() {
        incidents.count(Kind.WORKERS_LOST, "shop", "", () -> "worker a");
        pass(31);
        assertThat(told())
                .last()
                .isEqualTo("incident ends: workers of function shop are lost: 1 worker within 1 s,"
                        + " and it began with: worker a");
    }

    @Test
    void should_do_nothing_about_the_end_of_what_has_not_begun() {
        incidents.end(Kind.WORKERS_EJECTED, "shop", "");
        pass(60);
        assertThat(told()).isEmpty();
    }
}
