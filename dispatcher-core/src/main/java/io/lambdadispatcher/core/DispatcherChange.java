package io.lambdadispatcher.core;

import io.lambdadispatcher.core.internal.assembly.ChangedOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.RequestRouter;
import java.util.Objects;

/**
 * Changes options of a dispatcher that runs, without losing a request. What is not named stays as
 * it is. {@link #apply} changes everything or, if something is wrong, nothing.
 *
 * <pre>{@code
 * dispatcher.change()
 *         .publicTls(0, TlsOptions.of(Path.of("chain.pem"), Path.of("key.pem")))
 *         .apply();
 * }</pre>
 *
 * <p><b>Threading.</b> Not thread-safe. {@link #apply} can be called on any thread, but reads
 * files.
 */
public final class DispatcherChange {
    private final Dispatcher dispatcher;
    private final ChangedOptions options = new ChangedOptions();

    DispatcherChange(Dispatcher dispatcher) {
        this.dispatcher = dispatcher;
    }

    /**
     * Replaces what chooses the function of each request. Requests that have been routed stay with
     * their function.
     */
    public DispatcherChange router(RequestRouter value) {
        options.router = Objects.requireNonNull(value, "router");
        return this;
    }

    /**
     * Replaces the options of the function with this name. Requests that are queued or in flight
     * keep their timeouts. Workers that run are kept or drained, as the new capacity policy says.
     * The connections and streams of a worker cannot change, and functions cannot be added or
     * removed.
     */
    public DispatcherChange function(FunctionOptions function) {
        options.functions.put(function.name(), function);
        return this;
    }

    /**
     * Replaces the limits and timeouts of client connections. Open connections keep theirs. {@link
     * HttpLimits#clientMemoryBytes} does not change.
     */
    public DispatcherChange limits(HttpLimits value) {
        options.limits = Objects.requireNonNull(value, "limits");
        return this;
    }

    /** Replaces what handlers are told about clients. Open connections keep their policy. */
    public DispatcherChange forwarding(ForwardingPolicy value) {
        options.forwarding = Objects.requireNonNull(value, "forwarding");
        return this;
    }

    /**
     * Replaces the certificates of a public port that has TLS, and reads their files. New
     * connections see them. Open connections continue.
     *
     * @param listener index of the port in {@link Dispatcher#publicAddresses}
     */
    public DispatcherChange publicTls(int listener, TlsOptions tls) {
        options.publicTls.put(listener, Objects.requireNonNull(tls, "tls"));
        return this;
    }

    /**
     * Replaces the certificates of the worker port, which has TLS, and reads their files. New
     * connections see them. Open connections continue.
     */
    public DispatcherChange workerTls(TlsOptions tls) {
        options.workerTls = Objects.requireNonNull(tls, "tls");
        return this;
    }

    /**
     * Replaces the secrets of {@link DispatcherBuilder#secret(byte[], byte[]...)}. Workers that
     * are connected stay, whatever their secret. To replace a secret without a rejected worker,
     * first add the new one as another, then make it the first, then remove the old one.
     *
     * @param bytes signs the tokens of workers that are launched from now on
     * @param others further secrets, whose tokens are accepted as well
     */
    public DispatcherChange secret(byte[] bytes, byte[]... others) {
        options.secrets = DispatcherBuilder.copies(bytes, others);
        return this;
    }

    /**
     * Replaces the secrets of one function. See {@link #secret(byte[], byte[]...)}.
     *
     * @param others further secrets, whose tokens are accepted as well
     */
    public DispatcherChange secret(String function, byte[] bytes, byte[]... others) {
        options.functionSecrets.put(function, DispatcherBuilder.copies(bytes, others));
        return this;
    }

    /**
     * Checks everything that is to change, and then changes it. Calls on several threads are
     * applied one after the other.
     *
     * @throws IllegalArgumentException if something is not valid; nothing has changed then
     * @throws java.io.UncheckedIOException if a file cannot be read; nothing has changed then
     * @throws IllegalStateException if the dispatcher is closing or closed
     */
    public void apply() {
        dispatcher.apply(options);
    }
}
