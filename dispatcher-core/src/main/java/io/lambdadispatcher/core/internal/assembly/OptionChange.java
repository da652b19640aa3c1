package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.internal.engine.TlsContexts;
import io.lambdadispatcher.core.internal.ingress.PublicChannelInitializer;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.worker.WorkerPort;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.handler.ssl.SslContext;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * One change of a dispatcher that runs. It is checked when it is created, and cannot fail when it
 * is applied. One thread at a time.
 */
public final class OptionChange {
    private final DispatcherParts parts;
    private final ChangedOptions options;
    private final Map<PublicChannelInitializer, SslContext> publicTls = new LinkedHashMap<>();
    private final Secrets secrets;
    private final WorkerPort.Access access;
    private final Set<String> headersOfRouter;

    /**
     * @throws IllegalArgumentException if something is not valid
     * @throws java.io.UncheckedIOException if a file cannot be read
     */
    public OptionChange(DispatcherParts parts, ChangedOptions options) {
        this.parts = parts;
        this.options = options;
        options.functions.values().forEach(this::requireChangeable);
        options.publicTls.forEach((listener, tls) ->
                publicTls.put(parts.clients().handlerWithTls(listener), TlsContexts.forClients(tls)));
        secrets = parts.workers().secrets().with(options.secrets, options.functionSecrets);
        secrets.verify(parts.engine().pools().keySet());
        access = parts.workers().accessAfter(options, secrets);
        headersOfRouter = options.router == null ? Set.of() : options.router.requestHeaders();
    }

    private void requireChangeable(FunctionOptions to) {
        FunctionPool pool = parts.engine().pools().get(to.name());
        if (pool == null) {
            throw new IllegalArgumentException("function: '" + to.name() + "', expected the name of one of "
                    + parts.engine().pools().keySet());
        }
        FunctionOptions from = pool.options();
        if (to.connectionsPerWorker() != from.connectionsPerWorker()
                || to.streamsPerConnection() != from.streamsPerConnection()) {
            throw new IllegalArgumentException("function '" + to.name()
                    + "': expected the connections and streams of a worker not to change, because workers have them");
        }
        if (to.capacity().maxWorkers() > 0 && !supervisors().containsKey(to.name())) {
            throw new IllegalArgumentException("function '" + to.name() + "': a maximum of "
                    + to.capacity().maxWorkers()
                    + " workers, expected 0, because this dispatcher does not launch its workers");
        }
        if (parts.launches().isFleet()) {
            BuilderChecks.requireRoomInLedger(to);
        }
    }

    private Map<String, LaunchSupervisor> supervisors() {
        return parts.launches().supervisors();
    }

    public void apply() {
        if (options.router != null) {
            parts.clients().setRouter(options.router, headersOfRouter);
        }
        publicTls.forEach(PublicChannelInitializer::setTls);
        // Tokens are accepted before they are signed.
        parts.workers().setAccess(secrets, access, options.workerTls != null);
        supervisors()
                .forEach((function, supervisor) ->
                        supervisor.setAccess(parts.workers().launchAccess(function)));
        // New workers get tokens of the new secret.
        options.functions.values().forEach(this::applyOptions);
        parts.clients().setRules(options.limits, options.forwarding);
    }

    private void applyOptions(FunctionOptions function) {
        parts.engine().setOptions(function);
        LaunchSupervisor supervisor = supervisors().get(function.name());
        if (supervisor != null) {
            supervisor.setOptions(function);
        }
    }
}
