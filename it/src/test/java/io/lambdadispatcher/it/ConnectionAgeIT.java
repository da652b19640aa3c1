package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.testkit.Await;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Client connections that reach their maximum age under load. */
class ConnectionAgeIT {
    private static final int CLIENTS = 4;

    @Test
    void should_lose_no_request_when_connections_are_replaced() throws Exception {
        HttpLimits limits =
                HttpLimits.builder().maxConnectionAge(Duration.ofSeconds(1)).build();
        try (Rig rig = Rig.start(Rig.function().build(), DispatcherObserver.NONE, builder -> builder.limits(limits))) {
            rig.worker(1, 50);
            expectNoneLost("HTTP/1.1", LoadClients.http1(rig.plainPort(), CLIENTS));
            expectNoneLost("h2c", LoadClients.http2(rig.plainPort(), CLIENTS));
        }
    }

    private static void expectNoneLost(String name, LoadClients load) throws InterruptedException {
        try (load) {
            Await.until(name + ": each connection is replaced three times", () -> load.connections() >= 4 * CLIENTS);
        }
        LoggerFactory.getLogger(ConnectionAgeIT.class)
                .info(
                        "{}: {} served on {} connections, {} lost",
                        name,
                        load.served(),
                        load.connections(),
                        load.lost().size());
        assertThat(load.lost()).isEmpty();
        assertThat(load.served()).isPositive();
    }
}
