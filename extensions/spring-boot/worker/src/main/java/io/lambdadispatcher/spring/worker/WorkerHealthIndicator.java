package io.lambdadispatcher.spring.worker;

import io.lambdadispatcher.worker.Worker;
import java.util.concurrent.CompletableFuture;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** UP if a dispatcher has accepted the worker, and it has not ended. Otherwise DOWN. */
final class WorkerHealthIndicator implements HealthIndicator {
    private final WorkerLifecycle lifecycle;

    WorkerHealthIndicator(WorkerLifecycle lifecycle) {
        this.lifecycle = lifecycle;
    }

    @Override
    public Health health() {
        Worker worker = lifecycle.worker();
        if (worker == null) {
            return down("the worker does not run, or drains");
        }
        CompletableFuture<Worker> ready = worker.ready().toCompletableFuture();
        return ready.isDone() && !ready.isCompletedExceptionally()
                ? Health.up().build()
                : down("no dispatcher has let the worker in yet");
    }

    private static Health down(String reason) {
        return Health.down().withDetail("reason", reason).build();
    }
}
