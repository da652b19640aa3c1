package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.ListenerOptions;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;

/**
 * Starts the dispatcher when all beans exist, and closes it when the application ends.
 *
 * <p>Its phase is below those of the embedded web server. The dispatcher starts before the web
 * server, and closes after the web server has finished its requests. So a controller can send
 * requests through the dispatcher whenever it is called. The public ports open when everything has
 * started, because what clients ask for may need it.
 */
final class DispatcherLifecycle implements SmartLifecycle {
    private static final Logger log = LoggerFactory.getLogger(DispatcherLifecycle.class);

    /**
     * Spring Boot stops the web server gracefully in phase {@code DEFAULT_PHASE - 1024}, and starts
     * it in {@code DEFAULT_PHASE - 2048} (WebServerApplicationContext, whose package depends on
     * Boot's version).
     */
    static final int PHASE = DEFAULT_PHASE - 3 * 1024;

    private final ApplicationContext application;
    private final ObjectProvider<Dispatcher> source;
    private final Duration grace;
    private volatile List<ListenerOptions> publicListeners = List.of();
    private volatile @Nullable Dispatcher running;
    private volatile boolean closed;

    DispatcherLifecycle(ApplicationContext application, ObjectProvider<Dispatcher> source, Duration grace) {
        this.application = application;
        this.source = source;
        this.grace = grace;
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

    /** Sets the public ports that {@link #openPublicPorts} opens. */
    void publicListeners(List<ListenerOptions> listeners) {
        publicListeners = listeners;
    }

    /** @throws DispatcherStartException if a port or a file cannot be used */
    @EventListener
    void openPublicPorts(ContextRefreshedEvent event) {
        Dispatcher dispatcher = running;
        // Contexts below this one, such as that of the management port, send their events, too.
        if (dispatcher == null || event.getApplicationContext() != application) {
            return;
        }
        try {
            publicListeners.forEach(dispatcher::listen);
        } catch (UncheckedIOException e) {
            throw DispatcherStartException.portOrFile(e);
        }
        log.info(
                "Dispatcher started: clients on {}, workers on {}",
                dispatcher.publicAddresses().isEmpty() ? "no port" : dispatcher.publicAddresses(),
                dispatcher.workerAddress());
    }

    @Override
    public void stop() {
        close().toCompletableFuture().join();
    }

    @Override
    public void stop(Runnable callback) {
        close().whenComplete((closed, failure) -> callback.run());
    }

    private CompletionStage<Void> close() {
        Dispatcher dispatcher = running;
        if (dispatcher == null) {
            return CompletableFuture.completedFuture(null);
        }
        running = null;
        closed = true;
        return dispatcher.close(grace);
    }
}
