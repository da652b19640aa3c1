package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.Dispatcher;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * UP if every function can serve requests, otherwise DOWN. The details are the number of ready
 * workers of each function, and the reason if too few workers are launched.
 */
final class DispatcherHealthIndicator implements HealthIndicator {
    private final DispatcherLifecycle lifecycle;

    DispatcherHealthIndicator(DispatcherLifecycle lifecycle) {
        this.lifecycle = lifecycle;
    }

    @Override
    public Health health() {
        Dispatcher dispatcher = lifecycle.running();
        if (dispatcher == null) {
            return Health.down()
                    .withDetail("reason", "the dispatcher does not run")
                    .build();
        }
        Health.Builder health = dispatcher.isReady() ? Health.up() : Health.down();
        dispatcher.pools().forEach(pool -> health.withDetail(pool.function() + ".readyWorkers", pool.readyWorkers()));
        dispatcher.capacity().stream()
                .filter(each -> each.blockedReason() != null)
                .forEach(each ->
                        health.withDetail(each.function() + ".blockedReason", String.valueOf(each.blockedReason())));
        return health.build();
    }
}
