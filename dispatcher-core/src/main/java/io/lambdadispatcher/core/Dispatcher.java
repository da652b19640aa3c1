package io.lambdadispatcher.core;

import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Takes HTTP requests and gives each to a worker stream. Thread-safe. {@link Builder#start} opens the ports; {@link #close(Duration)}
 * ends it: no new request, those under way finish, workers are told goodbye.
 */
public final class Dispatcher implements AutoCloseable {

    private Dispatcher(Builder builder) {}

    public static Builder builder() {
        return new Builder();
    }

    /** In the order of {@link Builder#publicListener}, with the ports really bound. */
    public List<InetSocketAddress> publicAddresses() {
        return List.of();
    }

    public InetSocketAddress workerAddress() {
        throw new UnsupportedOperationException("not yet");
    }

    /** Every function with a minimum of workers has that many ready, and no close has begun. */
    public boolean isReady() {
        return false;
    }

    /** What pools look like now; summed over event loops that go on while it is taken. */
    public List<PoolSnapshot> pools() {
        return List.of();
    }

    /**
     * A pool at a moment.
     *
     * @param workers dialled in; @param streams all worker streams; @param free streams without an exchange; @param pending requests
     *     that wait
     */
    public record PoolSnapshot(String function, int workers, int readyWorkers, int streams, int free, int pending) {}

    /**
     * Stops listening, lets exchanges finish for up to {@code grace}, drains the workers, closes the launcher. Completes when all is closed;
     * calling it again returns the same stage.
     */
    public CompletionStage<Void> close(Duration grace) {
        throw new UnsupportedOperationException("not yet");
    }

    /** {@link #close(Duration)} with 10 s, awaited. */
    @Override
    public void close() {
        close(Duration.ofSeconds(10)).toCompletableFuture().join();
    }

    /** Not thread-safe. */
    public static final class Builder {
        final List<FunctionOptions> functions = new ArrayList<>();
        final List<ListenerOptions> publicListeners = new ArrayList<>();

        @Nullable
        ListenerOptions workerListener;

        byte @Nullable [] secret;

        @Nullable
        WorkerLauncher launcher;

        @Nullable
        RequestRouter router;

        List<InetSocketAddress> dialBack = List.of();
        HttpLimits limits = HttpLimits.defaults();
        ForwardingPolicy forwarding = ForwardingPolicy.defaults();
        DispatcherObserver observer = DispatcherObserver.NONE;
        Duration pingInterval = Duration.ofSeconds(2);
        Duration pingTimeout = Duration.ofSeconds(3);
        int eventLoops = Math.max(1, Runtime.getRuntime().availableProcessors());
        Transport transport = Transport.nio();

        private Builder() {}

        /** At least one; the first is where {@link #router} sends everything by default. */
        public Builder function(FunctionOptions function) {
            functions.add(function);
            return this;
        }

        /** Any number; none = embedded, requests come by other ways. */
        public Builder publicListener(ListenerOptions listener) {
            publicListeners.add(listener);
            return this;
        }

        /** Required: where workers dial in. */
        public Builder workerListener(ListenerOptions listener) {
            workerListener = listener;
            return this;
        }

        /** Where launched workers are told to dial; by default the worker listener's own address. */
        public Builder dialBack(List<InetSocketAddress> addresses) {
            dialBack = List.copyOf(addresses);
            return this;
        }

        /** Signs launch tokens; workers launched by others need it too. At least 16 octets; random by default. */
        public Builder secret(byte[] octets) {
            secret = octets.clone();
            return this;
        }

        /** Starts workers; without one they come by themselves. Closed with the dispatcher. */
        public Builder launcher(WorkerLauncher value) {
            launcher = value;
            return this;
        }

        public Builder router(RequestRouter value) {
            router = value;
            return this;
        }

        public Builder limits(HttpLimits value) {
            limits = value;
            return this;
        }

        public Builder forwarding(ForwardingPolicy value) {
            forwarding = value;
            return this;
        }

        public Builder observer(DispatcherObserver value) {
            observer = value;
            return this;
        }

        /** A silent worker is probed after {@code interval} and gone after {@code timeout} more. 2 s and 3 s by default. */
        public Builder liveness(Duration interval, Duration timeout) {
            pingInterval = interval;
            pingTimeout = timeout;
            return this;
        }

        /** Threads that do everything; by default as many as there are processors. */
        public Builder eventLoops(int count) {
            eventLoops = count;
            return this;
        }

        /** NIO by default. */
        public Builder transport(Transport value) {
            transport = Objects.requireNonNull(value);
            return this;
        }

        /**
         * Opens the ports, starts launching workers and returns; {@link Dispatcher#isReady} says when they are there.
         *
         * @throws IllegalArgumentException if an option is missing or contradicts another
         * @throws java.io.UncheckedIOException if a port cannot be bound or a certificate cannot be read
         */
        public Dispatcher start() {
            return new Dispatcher(this);
        }
    }
}
