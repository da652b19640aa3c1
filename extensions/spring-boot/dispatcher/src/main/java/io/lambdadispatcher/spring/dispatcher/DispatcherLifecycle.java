package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.spring.dispatcher.DispatcherProperties.Shutdown;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Starts the dispatcher when all beans exist, and closes it when the application ends.
 *
 * <p>Its phase is below those of the embedded web server. The dispatcher starts before the web
 * server, and closes after the web server has finished its requests. So a controller can send
 * requests through the dispatcher whenever it is called. {@link PublicPorts} open later. A
 * dispatcher whose requests this application serves closes before anything else ends, so that
 * controllers cannot use it any more.
 */
final class DispatcherLifecycle implements SmartLifecycle {
    private static final Logger log = LoggerFactory.getLogger(DispatcherLifecycle.class);

    /**
     * Spring Boot stops the web server gracefully in phase {@code DEFAULT_PHASE - 1024}, and starts
     * it in {@code DEFAULT_PHASE - 2048} (WebServerApplicationContext, whose package depends on
     * Boot's version).
     */
    static final int PHASE = DEFAULT_PHASE - 3 * 1024;

    private static final String BURST_ROLE = "lambda-dispatcher.burst.role";

    private final ApplicationContext application;
    private final ObjectProvider<Dispatcher> source;
    private final Shutdown shutdown;
    private volatile List<ListenerOptions> publicListeners = List.of();
    private volatile @Nullable Dispatcher running;
    private volatile boolean open;
    private volatile boolean closed;
    private CompletionStage<Void> closing = CompletableFuture.completedFuture(null);

    DispatcherLifecycle(ApplicationContext application, ObjectProvider<Dispatcher> source, Shutdown shutdown) {
        this.application = application;
        this.source = source;
        this.shutdown = shutdown;
    }

    /** Returns the dispatcher; {@code null} if it is not started, or has begun to close. */
    @Nullable
    Dispatcher running() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    /** A closed dispatcher cannot be started again, so a paused context must not close it. */
    @Override
    public boolean isPauseable() {
        return false;
    }

    @Override
    public boolean isRunning() {
        return running != null;
    }

    /**
     * Starts the dispatcher, unless another bean has needed it before. The bean is lazy.
     *
     * @throws IllegalStateException if the dispatcher has been closed
     */
    @Override
    public void start() {
        if (closed) {
            throw new IllegalStateException(
                    "the dispatcher has been closed and cannot start again, expected a new application context");
        }
        running = source.getObject();
    }

    /** Sets the public ports that {@link PublicPorts} opens. */
    void publicListeners(List<ListenerOptions> listeners) {
        publicListeners = listeners;
    }

    /** @throws DispatcherStartException if a port or a file cannot be used */
    private void openPublicPorts() {
        Dispatcher dispatcher = Objects.requireNonNull(running, "not started");
        try {
            publicListeners.forEach(dispatcher::listen);
        } catch (UncheckedIOException e) {
            throw DispatcherStartException.portOrFile(e);
        }
        log.info(
                "Dispatcher started: clients on {}, workers on {}",
                dispatcher.publicAddresses().isEmpty() ? "no port" : dispatcher.publicAddresses(),
                dispatcher.workerAddress());
        open = true;
    }

    /**
     * Opens the public ports after everything else has started, because what clients ask for may
     * need it. Its phase is the last one, and beans of auto-configurations come last in a phase.
     * Spring 6.2 stops what has started only if the start of such a bean fails, and not if a
     * listener for the end of the start does. The dispatcher closes the ports.
     */
    record PublicPorts(DispatcherLifecycle dispatcher) implements SmartLifecycle {
        @Override
        public boolean isPauseable() {
            return false;
        }

        @Override
        public boolean isRunning() {
            return dispatcher.open;
        }

        @Override
        public void start() {
            dispatcher.openPublicPorts();
        }

        @Override
        public void stop() {}
    }

    /**
     * During the delay, the whole application serves. Requests in flight may need all that it
     * consists of, if it serves them itself. Schedulers take no more tasks after this event, and
     * most beans stop before this one.
     */
    @EventListener
    @Order(Ordered.HIGHEST_PRECEDENCE)
    void onClosed(ContextClosedEvent event) {
        // Contexts below this one, such as that of the management port, send this event, too.
        if (event.getApplicationContext() == application) {
            letLoadBalancersNotice();
            if (servesHere()) {
                stop();
            }
        }
    }

    private void letLoadBalancersNotice() {
        long millis = shutdown.delay().toMillis();
        if (!open || millis <= 0) {
            return;
        }
        // Only a context with a web server has done so by itself.
        AvailabilityChangeEvent.publish(application, ReadinessState.REFUSING_TRAFFIC);
        log.info(
                "Not ready any more. The dispatcher keeps serving for {} ms (lambda-dispatcher.shutdown.delay).",
                millis);
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Returns whether a function has a handler in this process, which is a worker without a network
     * address, or whether the burst starter relays requests to this application's web server.
     */
    private boolean servesHere() {
        Dispatcher dispatcher = running;
        if (dispatcher == null) {
            return false;
        }
        if ("base".equals(application.getEnvironment().getProperty(BURST_ROLE))) {
            return true;
        }
        return dispatcher.workers().exceptionally(closed -> List.of()).toCompletableFuture().join().stream()
                .map(WorkerSnapshot::remoteAddress)
                .anyMatch(address -> address != null && !(address instanceof InetSocketAddress));
    }

    @Override
    public void stop() {
        close().toCompletableFuture().join();
    }

    @Override
    public void stop(Runnable callback) {
        close().whenComplete((closed, failure) -> callback.run());
    }

    /** The event may come on another thread than the phases, which must wait for it, too. */
    private synchronized CompletionStage<Void> close() {
        Dispatcher dispatcher = running;
        if (dispatcher != null) {
            running = null;
            open = false;
            closed = true;
            closing = dispatcher.close(shutdown.grace());
        }
        return closing;
    }
}
