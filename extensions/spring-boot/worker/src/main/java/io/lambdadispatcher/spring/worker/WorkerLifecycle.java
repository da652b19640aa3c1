package io.lambdadispatcher.spring.worker;

import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.WorkerSummary;
import io.lambdadispatcher.worker.adapter.web.WebHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Starts the worker after the web server: its phase is the default one, which is the last to start.
 * Drains it before anything else of the application ends. A worker that ends by itself, for example
 * because the dispatcher rejects it or needs it no longer, closes the application.
 */
final class WorkerLifecycle implements SmartLifecycle, DisposableBean {
    private static final Logger log = LoggerFactory.getLogger(WorkerLifecycle.class);

    private final ConfigurableApplicationContext application;
    private final WorkerSettings settings;
    private final IntConsumer exit;
    private volatile @Nullable Running running;

    /** What the application has set. Guarded by this. */
    private int limit = Integer.MAX_VALUE;

    private record Running(Worker worker, WebHandler handler) {}

    /**
     * @param exit ends the process with an exit code
     * @throws WorkerStartException if a property is not allowed. The message names it, its value
     *     and what was expected
     */
    WorkerLifecycle(ConfigurableApplicationContext application, WorkerSettings settings, IntConsumer exit) {
        this.application = application;
        this.settings = settings;
        this.exit = exit;
        settings.config(); // Finds errors before the web server starts.
    }

    /** Returns the worker; {@code null} if it is not started, or drains. */
    /** The end of the worker that was drained last. */
    private CompletionStage<?> drained = CompletableFuture.completedFuture(null);

    @Nullable
    Worker worker() {
        Running now = running;
        return now == null ? null : now.worker;
    }

    /** Also before the start of the worker. */
    synchronized void limit(int requests) {
        limit = requests;
        Worker now = worker();
        if (now != null) {
            now.limit(requests);
        }
    }

    @Override
    public boolean isRunning() {
        return running != null;
    }

    @Override
    public void start() {
        WebHandler handler = LocalServer.handler(application.getEnvironment());
        Worker worker = newWorker(handler);
        Running started = new Running(worker, handler);
        synchronized (this) {
            running = started;
            worker.limit(limit);
        }
        worker.start().done().thenAccept(summary -> onEnd(started, summary));
    }

    private Worker newWorker(WebHandler handler) {
        WorkerConfig config = settings.config();
        try {
            return new Worker(config, handler);
        } catch (IllegalStateException e) {
            throw WorkerStartException.netty(e);
        }
    }

    @Override
    public void stop() {
        Running stopping = running;
        if (stopping != null) {
            running = null;
            stopping.worker.close();
        }
    }

    /** Spring 6.2 destroys beans without having stopped them if a listener fails at the start. */
    @Override
    public void destroy() {
        stop();
    }

    /**
     * Requests in flight may need all that the application consists of. Schedulers take no more
     * tasks after this event, and other beans stop in the same phase as this one. The dispatcher of
     * a base closes before, because it needs this worker for its requests.
     */
    @EventListener
    @Order(Ordered.HIGHEST_PRECEDENCE + 1)
    void onClosed(ContextClosedEvent event) {
        // Contexts below this one, such as that of the management port, send this event, too.
        if (event.getApplicationContext() == application) {
            drain().toCompletableFuture().join();
        }
    }

    /** If only the phases stop, as in {@code application.stop()}, there is no event before. */
    @Override
    public void stop(Runnable callback) {
        drain().whenComplete((summary, failure) -> callback.run());
    }

    /** The event may come on another thread than the phases, which must wait for it, too. */
    private synchronized CompletionStage<?> drain() {
        Running stopping = running;
        if (stopping != null) {
            running = null;
            stopping.worker.drain(DrainReason.REQUESTED);
            drained = stopping.worker.done();
        }
        return drained;
    }

    /** Called on an event loop, which must not wait for the end of the application. */
    private void onEnd(Running ended, WorkerSummary summary) {
        ended.handler.stop();
        // In a base, the dispatcher of this process may end the worker before it is stopped.
        if (running == ended && !application.isClosed()) {
            running = null;
            boolean clean = !summary.refused() && summary.connections() > 0;
            // A launched worker ends when it is needed no longer.
            log.atLevel(clean && settings.isLaunched() ? Level.INFO : Level.WARN)
                    .log("the worker has ended, and the application with it: {}", summary.reason());
            new Thread(() -> end(clean ? 0 : 1), "worker-end").start();
        }
    }

    private void end(int code) {
        SpringApplication.exit(application, () -> code);
        if (settings.isLaunched()) {
            exit.accept(code);
        }
    }
}
