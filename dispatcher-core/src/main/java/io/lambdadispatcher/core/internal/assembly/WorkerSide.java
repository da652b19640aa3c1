package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.engine.Engine;
import io.lambdadispatcher.core.internal.engine.TlsContexts;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.launch.WorkerRegistry;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.worker.PortIdentities;
import io.lambdadispatcher.core.internal.worker.WorkerPort;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The worker port and its keys. Any thread, except what changes it: the owner makes one change at a
 * time.
 */
public final class WorkerSide {
    private final WorkerPort handler;
    private volatile Secrets secrets;
    /** Whether the keys of the port follow from the secrets. */
    private boolean derivesPortKeys;

    private @Nullable Channel port;

    WorkerSide(
            BuilderOptions.Workers options,
            Secrets secrets,
            HttpLimits limits,
            Engine engine,
            WorkerRegistry registry,
            DispatcherObserver observer,
            Incidents incidents) {
        ListenerOptions listener = Objects.requireNonNull(options.listener, "listener");
        this.secrets = secrets;
        derivesPortKeys = listener.isForWorkers();
        WorkerPort.Access access = new WorkerPort.Access(
                secrets::keys,
                secrets.hint(),
                identities(listener.tls(), secrets, PortIdentities.NONE),
                options.pingInterval,
                options.pingTimeout,
                limits.headerTimeout(),
                options.zone);
        handler = new WorkerPort(access, engine.pools(), engine.loopIndexes(), registry, observer, incidents);
    }

    Channel listen(ListenerOptions listener, Engine engine, int acceptsPerTurn) {
        Channel opened = engine.listen(listener, handler, acceptsPerTurn, worker -> true);
        port = opened;
        Engine.accept(opened);
        return opened;
    }

    /** @param others if there are no files, and the keys do not follow from the secrets */
    private PortIdentities identities(@Nullable TlsOptions files, Secrets secrets, PortIdentities others) {
        if (files != null) {
            return TlsContexts.forWorkers(files);
        }
        return derivesPortKeys ? TlsContexts.forWorkers(secrets.common()) : others;
    }

    Secrets secrets() {
        return secrets;
    }

    /**
     * Returns what workers need after a change, without applying it.
     *
     * @throws IllegalArgumentException if the port has no TLS that could change
     */
    WorkerPort.Access accessAfter(ChangedOptions change, Secrets changed) {
        WorkerPort.Access from = handler.access();
        TlsOptions tls = change.workerTls;
        HttpLimits limits = change.limits;
        if (tls != null && !from.tls().hasTls()) {
            throw new IllegalArgumentException("workerTls: expected a worker listener that has TLS already");
        }
        return new WorkerPort.Access(
                changed::keys,
                changed.hint(),
                tls == null && change.secrets == null ? from.tls() : identities(tls, changed, from.tls()),
                from.pingInterval(),
                from.pingTimeout(),
                limits == null ? from.handshakeTimeout() : limits.headerTimeout(),
                from.zone());
    }

    /** @param files whether the keys of the port come from files from now on */
    void setAccess(Secrets changed, WorkerPort.Access access, boolean files) {
        secrets = changed;
        derivesPortKeys &= !files;
        handler.setAccess(access);
    }

    /** Returns what a launched worker of the function needs to connect. */
    LaunchSupervisor.Access launchAccess(String function) {
        return new LaunchSupervisor.Access(secrets.keys(function).get(0), fingerprints());
    }

    /** Returns the fingerprints of the keys of the port; empty without TLS. */
    public List<String> fingerprints() {
        return handler.access().tls().fingerprints();
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) port().localAddress();
    }

    Channel port() {
        return Objects.requireNonNull(port, "the worker port is not open");
    }
}
