package io.lambdadispatcher.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.testkit.CutLedger;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The metrics of two dispatchers that share a ledger. */
@Timeout(120)
class FleetMetricsTest {
    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();
    private final List<Dispatcher> dispatchers = new ArrayList<>();

    private PrometheusMeterRegistry start(int maxWorkers, @Nullable Ledger ledger) {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        DispatcherMetrics metrics = new DispatcherMetrics(registry);
        DispatcherBuilder builder = Dispatcher.builder()
                .function(FunctionOptions.builder("shop")
                        .capacity(
                                CapacityPolicy.builder().workers(2, maxWorkers).build())
                        .build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret("a secret for tests only")
                .launcher(new RecordingLauncher())
                .eventLoops(1)
                .observer(metrics);
        Dispatcher dispatcher = (ledger == null ? builder : builder.ledger(ledger)).start();
        dispatchers.add(dispatcher);
        metrics.watch(dispatcher);
        return registry;
    }

    @AfterEach
    void close() throws Exception {
        for (Dispatcher dispatcher : dispatchers) {
            dispatcher.close(Duration.ZERO).toCompletableFuture().get(30, TimeUnit.SECONDS);
        }
    }

    private static void await(PrometheusMeterRegistry registry, String... lines) {
        Await.until(
                String.join(" and ", lines),
                () -> List.of(registry.scrape().split("\n")).containsAll(List.of(lines)));
    }

    @Test
    void should_show_the_fleet() throws Exception {
        PrometheusMeterRegistry first = start(5, Ledger.inMemory(entries));
        CutLedger ledger = new CutLedger(Ledger.inMemory(entries));
        PrometheusMeterRegistry second = start(4, ledger);

        for (PrometheusMeterRegistry each : List.of(first, second)) {
            await(
                    each,
                    "lambda_dispatcher_fleet_members 2.0",
                    "lambda_dispatcher_fleet_members_silent 0.0",
                    "lambda_dispatcher_fleet_lease_valid 1.0",
                    "lambda_dispatcher_fleet_entries_unreadable 0.0",
                    "lambda_dispatcher_fleet_workers{function=\"shop\"} 2.0",
                    "lambda_dispatcher_fleet_workers_replaced{function=\"shop\"} 0.0",
                    "lambda_dispatcher_fleet_workers_reserved{function=\"shop\"} 0.0",
                    "lambda_dispatcher_fleet_limits_differ{function=\"shop\"} 1.0");
            assertThat(leaseAge(each)).isBetween(0.0, 5.0);
        }

        entries.put("note", new Ledger.Entry("note", 1, ""));
        await(first, "lambda_dispatcher_fleet_entries_unreadable 1.0");
        await(second, "lambda_dispatcher_fleet_entries_unreadable 1.0");

        ledger.setCutOff(true);
        await(second, "lambda_dispatcher_fleet_lease_valid 0.0");
        assertThat(leaseAge(second)).isGreaterThanOrEqualTo(4);
        await(
                first,
                "lambda_dispatcher_fleet_members 1.0",
                "lambda_dispatcher_fleet_members_silent 1.0",
                "lambda_dispatcher_fleet_lease_valid 1.0",
                "lambda_dispatcher_fleet_limits_differ{function=\"shop\"} 0.0");
    }

    private static double leaseAge(PrometheusMeterRegistry registry) {
        return registry.get("lambda.dispatcher.fleet.lease.age").gauge().value();
    }

    @Test
    void should_show_no_fleet_if_the_dispatcher_is_alone() {
        assertThat(start(5, null).scrape())
                .contains("lambda_dispatcher_workers_desired{function=\"shop\"}")
                .doesNotContain("fleet");
    }
}
