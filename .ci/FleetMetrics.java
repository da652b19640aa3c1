import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;

/** Prints the metrics of a dispatcher that is in a fleet, which .ci/monitoring checks. */
public final class FleetMetrics {
    private FleetMetrics() {}

    public static void main(String[] arguments) {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        DispatcherMetrics metrics = new DispatcherMetrics(registry);
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("api"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret("a secret for tests only")
                .ledger(Ledger.inMemory())
                .observer(metrics)
                .start();
        metrics.watch(dispatcher);
        System.out.print(registry.scrape());
        dispatcher.close(Duration.ZERO).toCompletableFuture().join();
    }
}
