package io.lambdadispatcher.worker.aws;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.utils.SdkAutoCloseable;

class GenerationsTest {
    private static final long IDLE_MILLIS = 5000;

    private final ManualFreezeClocks clocks = new ManualFreezeClocks();
    private final List<Client> made = new ArrayList<>();
    private int size = 10;
    private long makingMillis;
    private final Generations<Client> generations =
            new Generations<>(this::make, () -> size, clocks, IDLE_MILLIS, Runnable::run);

    private static final class Client implements SdkAutoCloseable {
        final int size;
        boolean closed;

        Client(int size) {
            this.size = size;
        }

        @Override
        public void close() {
            assertThat(closed).isFalse();
            closed = true;
        }
    }

    private Client make(int requests) {
        clocks.pass(makingMillis);
        Client client = new Client(requests);
        made.add(client);
        return client;
    }

    private Client request() {
        Generations<Client>.Lease lease = generations.lease();
        lease.end();
        return lease.client();
    }

    @Test
    void should_make_nothing_before_the_first_request() {
        assertThat(made).isEmpty();
        assertThat(request().size).isEqualTo(10);
    }

    @Test
    void should_keep_the_client_while_it_is_used() {
        Client first = request();
        for (int i = 0; i < 100; i++) {
            clocks.pass(IDLE_MILLIS - 1);
            assertThat(request()).isSameAs(first);
        }
        assertThat(first.closed).isFalse();
    }

    /** The first client takes long, because its classes are loaded. */
    @Test
    void should_keep_a_client_that_took_long_to_make() {
        makingMillis = 20_000;
        Client first = request();
        assertThat(request()).isSameAs(first);
    }

    @Test
    void should_count_a_long_request_as_use() {
        Generations<Client>.Lease lease = generations.lease();
        clocks.pass(60_000);
        lease.end();
        assertThat(request()).isSameAs(lease.client());
    }

    @Test
    void should_replace_a_client_that_was_idle_too_long() {
        Client first = request();
        clocks.pass(IDLE_MILLIS);
        assertThat(request()).isNotSameAs(first);
        assertThat(first.closed).isTrue();
        assertThat(made).hasSize(2);
    }

    @Test
    void should_replace_a_client_after_short_freezes_that_add_up() {
        Client first = request();
        clocks.freeze(999);
        assertThat(request()).isSameAs(first);
        clocks.freeze(1);
        assertThat(request()).isNotSameAs(first);
    }

    @Test
    void should_replace_a_client_when_the_clock_was_set_back() {
        Client first = request();
        clocks.freeze(-3600_000);
        Client second = request();
        assertThat(second).isNotSameAs(first);
        assertThat(request()).isSameAs(second);
    }

    @Test
    void should_replace_a_client_when_the_worker_has_grown() {
        Client first = request();
        size = 20;
        assertThat(request().size).isEqualTo(20);
        assertThat(first.closed).isTrue();
    }

    @Test
    void should_close_an_old_client_with_its_last_request() {
        Generations<Client>.Lease one = generations.lease();
        Generations<Client>.Lease two = generations.lease();
        clocks.freeze(3600_000);
        Client second = request();
        one.end();
        one.end();
        assertThat(one.client().closed).isFalse();
        two.end();
        assertThat(two.client().closed).isTrue();
        assertThat(second.closed).isFalse();
    }

    @Test
    void should_close_all_and_make_another_with_the_next_request() {
        Generations<Client>.Lease old = generations.lease();
        clocks.freeze(3600_000);
        Generations<Client>.Lease current = generations.lease();
        generations.closeAll();
        assertThat(made).hasSize(2).allMatch(client -> client.closed);
        old.end();
        current.end();
        assertThat(request().closed).isFalse();
        assertThat(made).hasSize(3);
    }
}
