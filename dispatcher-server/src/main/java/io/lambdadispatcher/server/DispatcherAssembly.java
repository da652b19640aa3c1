package io.lambdadispatcher.server;

import io.lambdadispatcher.aws.AdvertisedAddress;
import io.lambdadispatcher.aws.AwsLocation;
import io.lambdadispatcher.aws.DynamoDbLedger;
import io.lambdadispatcher.aws.LambdaInvoker;
import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.DispatcherChange;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ErrorFormat;
import io.lambdadispatcher.server.config.FilterExtensions;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.ListenAddress;
import io.lambdadispatcher.server.config.PathRule;
import io.lambdadispatcher.server.config.PolicyValueTypes.ForwardingHeaders;
import io.lambdadispatcher.server.config.PolicyValueTypes.KeepAlive;
import io.lambdadispatcher.server.config.PolicyValueTypes.MaxConnections;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.launch.LocalLauncher;
import io.lambdadispatcher.server.launch.LocalWorkers;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates a dispatcher from settings, without starting it. */
final class DispatcherAssembly {
    private static final Logger log = LoggerFactory.getLogger(DispatcherAssembly.class);

    private final Configuration configuration;
    private final Supplier<AdvertisedAddress.Found> ownAddress;
    private final List<FunctionConfiguration> functions;
    private final List<Runnable> closings = new ArrayList<>();
    private final Map<FilterExtension, Filter> filters = new HashMap<>();
    private @Nullable LocalLauncher localLauncher;

    DispatcherAssembly(Configuration configuration) {
        this(configuration, AdvertisedAddress::find);
    }

    /**
     * @param ownAddress finds this machine's address; used if the Lambda launcher is configured but
     *     {@code workers.advertised-addresses} is not; throws {@link IllegalStateException} if
     *     there is none
     */
    DispatcherAssembly(Configuration configuration, Supplier<AdvertisedAddress.Found> ownAddress) {
        this.configuration = configuration;
        this.ownAddress = ownAddress;
        functions = configuration.functions();
    }

    /** Closes what {@link #builder} has created. Call it if the dispatcher was not started. */
    void abandon() {
        closings.forEach(closing -> {
            try {
                closing.run();
            } catch (Throwable e) {
                // The cause of the failed start counts, and the others close, too.
                log.error("closing after a failed start", e);
            }
        });
    }

    /** @param sockets sockets that listen already */
    DispatcherBuilder builder(Transport transport, InheritedSockets sockets) throws StartException {
        DispatcherBuilder builder = Dispatcher.builder().transport(transport);
        if (isInFleet()) {
            Ledger ledger = ledger();
            closings.add(ledger::close);
            builder.ledger(ledger);
            builder.onBroadcast(name -> CompletableFuture.runAsync(() -> onCommand(name)));
            String zone = configuration.find(Settings.FLEET_ZONE);
            if (zone != null) {
                builder.zone(zone);
            }
        }
        functions.forEach(function -> builder.function(function.options()));
        builder.router(router());
        filters(builder);
        direct(builder);
        publicListeners().forEach(listener -> builder.publicListener(sockets.attach(listener.options)));
        builder.workerListener(sockets.attach(workerListener()));
        sockets.requireAllUsed();
        builder.limits(limits()).forwarding(forwarding());
        if (configuration.get(Settings.HTTP_ERROR_FORMAT) == ErrorFormat.PROBLEM_JSON) {
            builder.errorRenderer(ErrorRenderer.problemJson());
        }
        String failureHeader = configuration.find(Settings.HTTP_FAILURE_HEADER);
        if (failureHeader != null) {
            builder.failureHeader(failureHeader);
        }
        KeepAlive keepAlive = configuration.get(Settings.WORKERS_KEEPALIVE);
        builder.liveness(keepAlive.interval(), keepAlive.timeout());
        workers(builder);
        int eventLoops = configuration.get(Settings.EVENT_LOOPS);
        if (eventLoops > 0) {
            builder.eventLoops(eventLoops);
        }
        return builder;
    }

    private void filters(DispatcherBuilder builder) throws StartException {
        FilterExtensions extensions = configuration.table().filters();
        for (FilterExtension service : extensions.services()) {
            Filter filter;
            try {
                filter = extensions.create(service, configuration);
            } catch (IllegalArgumentException e) {
                throw new StartException(PrintableText.ofFailure(e), e);
            }
            closings.add(filter::close);
            builder.filter(filter);
            filters.put(service, filter);
        }
    }

    /** Another dispatcher of the fleet has told its filter this. */
    private void onCommand(String name) {
        try {
            for (FilterCommand command : configuration.table().filters().commands()) {
                if (command.name().equals(name)) {
                    log.info(
                            "{} as on another dispatcher of the fleet: {} {}",
                            name,
                            tellFilter(command),
                            command.text());
                }
            }
        } catch (Throwable e) {
            log.warn("{} failed, which another dispatcher of the fleet has done", name, e);
        }
    }

    /** Returns what a filter of this dispatcher answers. */
    long tellFilter(FilterCommand command) {
        FilterExtension service = configuration.table().filters().serviceOf(command);
        return command.action().applyAsLong(Objects.requireNonNull(filters.get(service), command.name()));
    }

    /** @param ready what {@code /ready} says */
    void healthCheck(DispatcherBuilder builder, BooleanSupplier ready) {
        String check = configuration.find(Settings.PUBLIC_HEALTH_CHECK);
        if (check != null) {
            int blank = check.indexOf(' ');
            String path = blank < 0 ? check : check.substring(0, blank);
            builder.healthCheck(path, blank < 0 ? "" : check.substring(blank + 1), ready);
        }
    }

    private RequestRouter router() {
        FunctionConfiguration first = functions.get(0);
        if (functions.size() > 1
                || !first.route().servesAll()
                || !first.routes().isEmpty()
                || configuration.find(Settings.HTTP_PATH) == PathRule.NORMALIZE) {
            return new RouteTable(functions, configuration.find(Settings.HTTP_PATH));
        }
        RouteTarget target = RouteTarget.of(first.options().name());
        return head -> target;
    }

    /**
     * Applies these settings to a dispatcher that runs. Throws without a change if one of them is
     * not valid.
     *
     * @param start has built the dispatcher
     * @throws IllegalArgumentException if a setting is not valid
     * @throws java.io.UncheckedIOException if a file cannot be read
     */
    void change(Dispatcher dispatcher, DispatcherAssembly start) {
        DispatcherChange change =
                dispatcher.change().router(router()).limits(limits()).forwarding(forwarding());
        functions.forEach(function -> change.function(function.options()));
        List<PublicListener> listeners = publicListeners();
        for (int i = 0; i < listeners.size(); i++) {
            TlsOptions tls = listeners.get(i).options.tls();
            if (tls != null) {
                change.publicTls(i, tls);
            }
        }
        TlsOptions workers = configuration.workerTls();
        if (workers != null) {
            change.workerTls(workers);
        }
        changeSecrets(change);
        // All that can fail comes before the change.
        LocalWorkers localOptions = start.localLauncher == null ? null : localWorkers();
        change.apply();
        LocalLauncher local = start.localLauncher;
        if (local != null && localOptions != null) {
            local.setOptions(localOptions);
        }
    }

    /** Applies only the routes and their weights to a dispatcher that runs. */
    void changeRoutes(Dispatcher dispatcher) {
        dispatcher.change().router(router()).apply();
    }

    private void changeSecrets(DispatcherChange change) {
        List<byte[]> common = configuration.find(Settings.WORKERS_SECRET);
        if (common != null) {
            change.secret(common.get(0), others(common));
        }
        for (FunctionConfiguration function : functions) {
            List<byte[]> own = function.secrets();
            if (own != null) {
                change.secret(function.options().name(), own.get(0), others(own));
            }
        }
    }

    private void direct(DispatcherBuilder builder) throws StartException {
        boolean any = false;
        for (FunctionConfiguration function : functions) {
            DirectOptions options = function.direct();
            if (options != null) {
                builder.direct(function.options().name(), options);
                any = true;
            }
        }
        if (any) {
            FunctionInvoker invoker = invoker();
            closings.add(invoker::close);
            builder.invoker(invoker);
        }
    }

    private FunctionInvoker invoker() throws StartException {
        int limit = 0;
        LambdaInvoker.Builder builder = LambdaInvoker.builder();
        try {
            for (FunctionConfiguration function : functions) {
                DirectOptions options = function.direct();
                if (options != null) {
                    builder.function(function.options().name(), function.directLambda());
                    limit += options.maxConcurrentInvocations();
                }
            }
            locate(builder, Settings.AWS_ENDPOINT);
            return builder.maxInvocations(limit).build();
        } catch (RuntimeException e) {
            throw new StartException("direct requests: " + PrintableText.ofFailure(e), e);
        }
    }

    private static byte[][] others(List<byte[]> secrets) {
        return secrets.subList(1, secrets.size()).toArray(byte[][]::new);
    }

    private void workers(DispatcherBuilder builder) throws StartException {
        List<byte[]> common = configuration.find(Settings.WORKERS_SECRET);
        if (common != null) {
            builder.secret(common.get(0), others(common));
        }
        for (FunctionConfiguration function : functions) {
            List<byte[]> own = function.secrets();
            if (own != null) {
                builder.secret(function.options().name(), own.get(0), others(own));
            }
        }
        List<InetSocketAddress> advertisedAddresses = configuration.get(Settings.WORKERS_ADVERTISED_ADDRESSES);
        InetAddress host =
                configuration.get(Settings.WORKERS_PORT).toSocketAddress().getAddress();
        // An unknown host has no address. The dispatcher reports it when it opens the port.
        boolean everywhere = host != null && host.isAnyLocalAddress();
        if (advertisedAddresses.isEmpty() && (any(Launcher.LAMBDA) || isInFleet() && everywhere)) {
            advertisedAddresses = List.of(InetSocketAddress.createUnresolved(ownHost(), 0));
        }
        builder.advertisedAddresses(advertisedAddresses);
        if (any(Launcher.LOCAL)) {
            localLauncher = new LocalLauncher(localWorkers());
            launch(Launcher.LOCAL, localLauncher, builder);
        }
        if (any(Launcher.LAMBDA)) {
            launch(Launcher.LAMBDA, lambdaLauncher(), builder);
        }
    }

    private boolean isInFleet() {
        return configuration.find(Settings.FLEET_TABLE) != null;
    }

    private String ownHost() throws StartException {
        try {
            return ownAddress.get().host();
        } catch (IllegalStateException e) {
            throw new StartException(String.valueOf(e.getMessage()), e);
        }
    }

    private boolean any(Launcher kind) {
        return functions.stream().anyMatch(function -> function.launcher() == kind);
    }

    private void launch(Launcher kind, WorkerLauncher launcher, DispatcherBuilder builder) {
        closings.add(() -> launcher.close(Duration.ZERO));
        functions.stream()
                .filter(function -> function.launcher() == kind)
                .forEach(function -> builder.launcher(function.options().name(), launcher));
    }

    private LambdaLauncher lambdaLauncher() throws StartException {
        LambdaLauncher.Builder builder =
                LambdaLauncher.builder().maxInvocations(configuration.get(Settings.AWS_MAX_INVOCATIONS));
        functions.stream()
                .filter(function -> function.launcher() == Launcher.LAMBDA)
                .forEach(function -> builder.function(function.options().name(), function.lambda()));
        locate(builder, Settings.AWS_ENDPOINT);
        try {
            LambdaLauncher launcher = builder.build();
            launcher.verify();
            return launcher;
        } catch (RuntimeException e) {
            throw failed("launcher lambda", e);
        }
    }

    /**
     * Returns the fleet's ledger: the configured file or table, or this JVM's memory if there is
     * none. The caller must close it. Nothing is sent yet.
     */
    Ledger ledger() throws StartException {
        if (!isInFleet()) {
            return Ledger.inMemory();
        }
        try {
            Path file = configuration.fleetFile();
            return file == null ? ledgerTable().build() : new LedgerFile(file);
        } catch (RuntimeException e) {
            throw failed("fleet.table", e);
        }
    }

    /** @throws NullPointerException if {@code fleet.table} is not set */
    DynamoDbLedger.Builder ledgerTable() {
        DynamoDbLedger.Builder builder = DynamoDbLedger.builder()
                .table(configuration.get(Settings.FLEET_TABLE))
                .fleet(configuration.get(Settings.FLEET_NAME));
        locate(builder, Settings.FLEET_ENDPOINT);
        return builder;
    }

    /** The AWS SDK lists eight places in which it has looked for a region. */
    static StartException failed(String what, RuntimeException cause) {
        return String.valueOf(cause.getMessage()).startsWith("Unable to load region")
                ? new StartException(what + ": no AWS region is known. Set aws.region, or AWS_REGION", cause)
                : new StartException(what + ": " + PrintableText.ofFailure(cause), cause);
    }

    private void locate(AwsLocation<?> builder, Setting<URI> ofEndpoint) {
        String region = configuration.find(Settings.AWS_REGION);
        if (region != null) {
            builder.region(region);
        }
        URI endpoint = configuration.find(ofEndpoint);
        if (endpoint != null) {
            builder.endpoint(endpoint);
        }
    }

    /** A public port, and the scheme of its URLs. */
    record PublicListener(String scheme, ListenerOptions options) {}

    /** Returns the public ports in the order of {@link Dispatcher#publicAddresses}. */
    List<PublicListener> publicListeners() {
        List<PublicListener> listeners = new ArrayList<>();
        ListenAddress plain = configuration.get(Settings.PUBLIC_PLAIN_PORT);
        if (!plain.isOff()) {
            ListenerOptions options = ListenerOptions.plain(plain.toSocketAddress());
            listeners.add(new PublicListener("http", proxied(options, plain)));
        }
        ListenAddress secure = configuration.get(Settings.PUBLIC_TLS_PORT);
        TlsOptions tls = configuration.publicTls();
        if (!secure.isOff() && tls != null) {
            ListenerOptions options = ListenerOptions.tls(secure.toSocketAddress(), tls);
            listeners.add(new PublicListener("https", proxied(options, secure)));
        }
        return listeners;
    }

    private static ListenerOptions proxied(ListenerOptions options, ListenAddress address) {
        return address.proxyProtocol() ? options.withProxyProtocol() : options;
    }

    private ListenerOptions workerListener() {
        InetSocketAddress address = configuration.get(Settings.WORKERS_PORT).toSocketAddress();
        TlsOptions tls = configuration.workerTls();
        if (tls != null) {
            return ListenerOptions.tls(address, tls);
        }
        return configuration.hasPlainWorkers() ? ListenerOptions.plain(address) : ListenerOptions.workers(address);
    }

    private LocalWorkers localWorkers() {
        Path java = configuration.find(Settings.LOCAL_JAVA);
        String own = System.getProperty("java.class.path");
        String before = configuration.find(Settings.LOCAL_CLASS_PATH);
        if (before != null) {
            warnOfWhatIsMissing(before);
        }
        return new LocalWorkers(
                java == null ? LocalWorkers.ownJava() : java,
                configuration.get(Settings.LOCAL_JVM_FLAGS),
                before == null ? own : before + File.pathSeparator + own,
                configuration.get(Settings.LOCAL_COMMAND),
                configuration.get(Settings.LOCAL_ENVIRONMENT),
                functions.stream()
                        .filter(function -> function.handler() != null)
                        .collect(Collectors.toMap(f -> f.options().name(), FunctionConfiguration::handler)),
                isInFleet());
    }

    /** Logs class path entries that do not exist, because a JVM ignores them silently. */
    private static void warnOfWhatIsMissing(String classPath) {
        for (String entry : classPath.split(Pattern.quote(File.pathSeparator))) {
            String place = entry.endsWith("*") ? entry.substring(0, entry.length() - 1) : entry;
            if (!Files.exists(Path.of(place))) {
                log.warn("local.class-path: expected jars and directories that exist, got \"{}\"", entry);
            }
        }
    }

    private HttpLimits limits() {
        MaxConnections connections = configuration.get(Settings.HTTP_MAX_CONNECTIONS);
        return HttpLimits.builder()
                .maxHeaderBytes(configuration.get(Settings.HTTP_MAX_HEADER_SIZE))
                .maxConcurrentStreams(configuration.get(Settings.HTTP_MAX_CONCURRENT_STREAMS))
                .streamWindowBytes(configuration.get(Settings.HTTP_STREAM_WINDOW))
                .headerTimeout(configuration.get(Settings.HTTP_HEADER_TIMEOUT))
                .idleTimeout(configuration.get(Settings.HTTP_IDLE_TIMEOUT))
                .maxConnectionAge(configuration.get(Settings.HTTP_MAX_CONNECTION_AGE))
                .bodyTimeout(configuration.get(Settings.HTTP_BODY_TIMEOUT))
                .writeTimeout(configuration.get(Settings.HTTP_WRITE_TIMEOUT))
                .maxConnections(connections.all())
                .maxConnectionsPerAddress(connections.perAddress())
                .clientMemoryBytes(configuration.get(Settings.HTTP_CLIENT_MEMORY))
                .build();
    }

    private ForwardingPolicy forwarding() {
        ForwardingHeaders headers = configuration.get(Settings.FORWARDING_HEADERS);
        ForwardingPolicy.Builder policy = ForwardingPolicy.builder()
                .trust(configuration.get(Settings.FORWARDING_TRUST))
                .headers(headers.headers())
                .via(headers.via())
                .trustedHeaders(configuration.get(Settings.FORWARDING_TRUSTED_HEADERS));
        String clientHeader = configuration.find(Settings.FORWARDING_CLIENT_HEADER);
        if (clientHeader != null) {
            policy.clientHeader(clientHeader);
        }
        String requestIdHeader = configuration.find(Settings.FORWARDING_REQUEST_ID_HEADER);
        if (requestIdHeader != null) {
            policy.requestIdHeader(requestIdHeader);
        }
        return policy.build();
    }
}
