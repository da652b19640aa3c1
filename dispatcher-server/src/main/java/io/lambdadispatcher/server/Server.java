package io.lambdadispatcher.server;

import io.lambdadispatcher.accesslog.AccessLog;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.DispatcherAssembly.PublicListener;
import io.lambdadispatcher.server.admin.AdminAccess;
import io.lambdadispatcher.server.admin.AdminPages;
import io.lambdadispatcher.server.admin.AdminServer;
import io.lambdadispatcher.server.admin.Launching;
import io.lambdadispatcher.server.admin.LiveSettings;
import io.lambdadispatcher.server.admin.Readiness;
import io.lambdadispatcher.server.admin.WorkerControl;
import io.lambdadispatcher.server.config.CommandedValues;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.FunctionSettings;
import io.lambdadispatcher.server.config.ListenAddress;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.server.config.ValueType;
import io.lambdadispatcher.server.live.Live;
import io.lambdadispatcher.server.log.LineFile;
import io.lambdadispatcher.server.log.Logging;
import io.lambdadispatcher.server.metrics.Metrics;
import io.lambdadispatcher.server.tracing.TraceExport;
import io.lambdadispatcher.server.transport.TlsProvider;
import io.lambdadispatcher.server.transport.TransportChoice;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.handler.ssl.SslContext;
import io.netty.util.concurrent.Ticker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A dispatcher with its admin port, metrics and access log. Started and stopped on the main thread.
 * Reloads and commands come on other threads, and wait for each other.
 */
final class Server {
    private static final Logger log = LoggerFactory.getLogger(Server.class);
    /** Less than {@code AdminRequest} waits for an answer. */
    private static final long BROADCAST_SECONDS = 3;
    /** Added to the grace period. In this time, the dispatcher closes connections and launchers. */
    private static final Duration CUT_OFF = Duration.ofSeconds(15);

    private final Configuration start;
    private final CertificateExpiry expiry;
    /** What the files, flags and environment variables say. */
    private Configuration configured;

    private CommandedValues commanded = CommandedValues.NONE;
    /** What is in force: as configured, with the values that commands have set. */
    private volatile Configuration configuration;

    private final DispatcherObserver guest;
    private final Map<String, String> environment;
    private final Readiness readiness = new Readiness();
    private final Launching launching = new Launching();
    private final WorkerControl workerControl = new WorkerControl();
    private final Metrics metrics;
    private final Live live = new Live();
    private final WeightWatch weightWatch = new WeightWatch(Ticker.systemTicker());
    private @Nullable DispatcherAssembly assembly;
    private @Nullable AccessLog accessLog;
    private @Nullable LineFile accessLogFile;
    private @Nullable TraceExport traces;
    private @Nullable AdminServer admin;
    private @Nullable StateFile state;
    private volatile @Nullable Dispatcher dispatcher;
    private List<String> publicUrls = List.of();

    private Server(Configuration configuration, DispatcherObserver guest, Map<String, String> environment) {
        this.start = configuration;
        this.configured = configuration;
        this.configuration = configuration;
        this.guest = guest;
        this.environment = environment;
        metrics = new Metrics(configuration.find(Settings.METRICS_ENDPOINT));
        expiry = new CertificateExpiry(metrics::onCertificate);
    }

    /**
     * @param environment may name sockets that listen already, see {@link InheritedSockets}
     * @throws StartException if a port or a file cannot be opened; nothing stays open then
     */
    static Server start(Configuration configuration, Map<String, String> environment) throws StartException {
        return start(configuration, DispatcherObserver.NONE, environment);
    }

    /** @param guest receives the same events as the metrics and the access log */
    static Server start(Configuration configuration, DispatcherObserver guest, Map<String, String> environment)
            throws StartException {
        Server server = new Server(configuration, guest, environment);
        try {
            server.open();
            return server;
        } catch (StartException | RuntimeException | Error e) {
            server.closeParts();
            throw e;
        }
    }

    private void open() throws StartException {
        Logging.setLevel(configuration.get(Settings.LOG_LEVEL));
        Logging.setFormat(configuration.get(Settings.LOG_FORMAT));
        StartupReport.log(configuration);
        try {
            openParts();
        } catch (UncheckedIOException | IllegalArgumentException e) {
            throw new StartException(PrintableText.ofFailure(e), e);
        }
        announce();
    }

    private void openParts() throws StartException {
        TransportChoice transport = TransportChoice.of(configuration.get(Settings.TRANSPORT));
        log.info("Using transport {} ({})", transport.transport().name(), transport.reason());
        log.info("Using the TLS provider {}", TlsProvider.description());
        openAccessLog();
        openTracing();
        openAdmin();
        StateFile remembered = readState();
        DispatcherAssembly parts = new DispatcherAssembly(configuration);
        assembly = parts;
        Dispatcher started = start(parts, transport, remembered);
        dispatcher = started;
        if (remembered != null) {
            remembered.keep(started::launchHistory);
        }
        publicUrls = urls(parts.publicListeners(), started.publicAddresses());
        expiry.set(CertificateExpiry.read(configuration));
        metrics.watch(started);
        launching.of(started);
        workerControl.of(started);
        if (admin != null) {
            live.watch(started, configuration);
        }
        weightWatch.setFunctions(configuration.sharingRoutes());
        announceReady(started);
    }

    private void announceReady(Dispatcher serving) {
        readiness.serving(
                serving,
                configuration.functions().stream()
                        .collect(Collectors.toMap(f -> f.options().name(), Server::neededWorkers)));
    }

    /**
     * Puts a configuration in force, except for settings that need a restart. What a command has
     * set is kept, except if the same setting has changed in the configuration, or if it is a
     * weight that {@link CommandedValues#applicableTo} leaves out. Nothing changes if it throws.
     *
     * @return has a line for each setting that changes, and for each that a command has set, unless
     *     the configuration has changed it
     * @throws ConfigurationException if it contradicts settings that need a restart
     * @throws IllegalArgumentException if something is not valid
     * @throws UncheckedIOException if a file cannot be read any more
     */
    synchronized Configuration.Reload reload(Configuration loaded) throws ConfigurationException {
        Configuration.Reload reload = loaded.reload(start, configured);
        CommandedValues same = commanded.keptBy(configured, reload.next());
        CommandedValues kept = same.applicableTo(reload.next());
        Configuration next = kept.appliedTo(reload.next());
        Dispatcher serving = Objects.requireNonNull(dispatcher, "not started");
        Map<String, X509Certificate> certificates = CertificateExpiry.read(next);
        SslContext adminTls = AdminServer.context(tls(next));
        new DispatcherAssembly(next).change(serving, Objects.requireNonNull(assembly));
        configured = reload.next();
        commanded = kept;
        configuration = next;
        Logging.setLevel(configuration.get(Settings.LOG_LEVEL));
        if (traces != null) {
            traces.setRatio(configuration.get(Settings.TRACING_RATIO));
        }
        AdminServer port = admin;
        if (port != null) {
            port.setAccess(adminAccess());
            port.setTls(adminTls);
            live.show(serving, configuration);
        }
        weightWatch.setFunctions(configuration.sharingRoutes());
        announceReady(serving);
        expiry.set(certificates);
        List<String> changes = new ArrayList<>(reload.changes());
        changes.addAll(kept.lines());
        changes.addAll(same.endsIn(kept));
        live.reloaded(changes, reload.restarts());
        return new Configuration.Reload(next, changes, reload.restarts());
    }

    /** Shows that a reload was refused. */
    void reloadRefused(List<String> problems) {
        live.reloadRefused(problems);
    }

    /** Returns the settings file, and each file that a setting in force names. */
    Set<Path> files() {
        return configuration.files();
    }

    /** Changes settings by command. Nothing changes if it throws. */
    private final class Commands implements LiveSettings {
        @Override
        public Map<String, Integer> setWeights(Map<String, String> weights) {
            synchronized (Server.this) {
                List<String> sharing = configuration.sharingRoutes().stream()
                        .map(each -> each.options().name())
                        .toList();
                CommandedValues next = commanded;
                for (Map.Entry<String, String> each : weights.entrySet()) {
                    if (!sharing.contains(each.getKey())) {
                        throw new IllegalArgumentException("function: '" + each.getKey()
                                + "', expected one that shares its route with another: " + sharing);
                    }
                    next = next.with(each.getKey(), FunctionSettings.FUNCTION_WEIGHT, each.getValue());
                }
                command(next);
                Map<String, Integer> inForce = new LinkedHashMap<>();
                configuration
                        .sharingRoutes()
                        .forEach(each ->
                                inForce.put(each.options().name(), each.route().weight()));
                return inForce;
            }
        }

        @Override
        public List<FilterCommand> filterCommands() {
            return start.table().filters().commands();
        }

        @Override
        public long tellFilter(FilterCommand command) {
            Dispatcher serving = serving();
            long result = Objects.requireNonNull(assembly).tellFilter(command);
            try {
                serving.broadcast(command.name()).toCompletableFuture().get(BROADCAST_SECONDS, TimeUnit.SECONDS);
                return result;
            } catch (TimeoutException e) {
                throw new IllegalStateException(
                        "this dispatcher has done it. The others of its fleet do it when it can reach the ledger", e);
            } catch (ExecutionException e) {
                throw new IllegalStateException(
                        "this dispatcher has done it, and has not told the others of its fleet: "
                                + PrintableText.ofFailure(e),
                        e);
            } catch (InterruptedException e) {
                throw new IllegalStateException("the dispatcher is closing", e);
            }
        }

        @Override
        public String setLogLevel(String level) {
            synchronized (Server.this) {
                command(commanded.with(null, Settings.LOG_LEVEL, level));
                return configuration.get(Settings.LOG_LEVEL).name().toLowerCase(Locale.ROOT);
            }
        }
    }

    private Dispatcher serving() {
        Dispatcher serving = dispatcher;
        if (serving == null) {
            throw new IllegalStateException("the dispatcher is starting or closing");
        }
        return serving;
    }

    private void command(CommandedValues values) {
        Dispatcher serving = serving();
        Configuration next;
        try {
            next = values.appliedTo(configured);
        } catch (ConfigurationException e) {
            throw new IllegalArgumentException(String.join(", ", e.problems()), e);
        }
        new DispatcherAssembly(next).changeRoutes(serving);
        Logging.setLevel(next.get(Settings.LOG_LEVEL));
        commanded = values;
        configuration = next;
        weightWatch.setFunctions(next.sharingRoutes());
        live.show(serving, next);
    }

    /** Logs certificates that expire soon. */
    void warnOfExpiry() {
        expiry.warn(Instant.now());
    }

    private static TlsOptions.@Nullable Contents tls(Configuration configuration) {
        TlsOptions tls = configuration.adminTls();
        return tls == null ? null : tls.load();
    }

    private AdminAccess adminAccess() {
        List<byte[]> tokens = configuration.find(Settings.ADMIN_TOKEN);
        List<byte[]> readTokens = configuration.find(Settings.ADMIN_READ_TOKEN);
        return new AdminAccess(
                configuration.get(Settings.ADMIN_ALLOWED_HOSTS),
                tokens == null ? List.of() : tokens,
                readTokens == null ? List.of() : readTokens);
    }

    /** External workers cannot be launched on demand, so readiness requires at least one. */
    private static int neededWorkers(FunctionConfiguration function) {
        int min = function.options().capacity().minWorkers();
        boolean selfLaunched =
                function.launcher() == FunctionConfiguration.Launcher.EXTERNAL && function.direct() == null;
        return selfLaunched ? Math.max(1, min) : min;
    }

    private Dispatcher start(DispatcherAssembly assembly, TransportChoice transport, @Nullable StateFile remembered)
            throws StartException {
        try {
            DispatcherBuilder builder =
                    assembly.builder(transport.transport(), InheritedSockets.of(environment, transport));
            assembly.healthCheck(builder, readiness::isReady);
            builder.observer(metrics.observer()).observer(guest);
            if (configuration.functions().size() > 1) {
                builder.observer(weightWatch);
                weightWatch.start();
            }
            if (admin != null) {
                builder.observer(live.observer());
            }
            if (accessLog != null) {
                builder.observer(accessLog);
            }
            if (traces != null) {
                builder.observer(traces.observer());
            }
            if (remembered != null) {
                builder.launchHistory(
                        remembered.earlier().taken(), remembered.earlier().functions());
            }
            return builder.start();
        } catch (UncheckedIOException e) {
            assembly.abandon();
            throw cannotListen(e);
        } catch (StartException | RuntimeException | Error e) {
            assembly.abandon();
            throw e;
        }
    }

    /** The dispatcher names the address. This adds the settings that have it. */
    private StartException cannotListen(UncheckedIOException e) {
        String reason = String.valueOf(Objects.requireNonNull(e.getCause()).getMessage());
        // The TLS port is the last, because it is not open if there is no certificate.
        for (Setting<ListenAddress> port :
                List.of(Settings.PUBLIC_PLAIN_PORT, Settings.WORKERS_PORT, Settings.PUBLIC_TLS_PORT)) {
            ListenAddress address = configuration.get(port);
            String listening = address.isOff() ? "" : listening(address.toSocketAddress());
            if (!listening.isEmpty() && reason.startsWith(listening + ": ")) {
                return cannotListen(port, reason.substring(listening.length() + 2), e);
            }
        }
        return new StartException(reason, e);
    }

    private static String listening(InetSocketAddress address) {
        return "cannot listen on " + address.getHostString() + ":" + address.getPort();
    }

    private StartException cannotListen(Setting<ListenAddress> port, String reason, Throwable cause) {
        return new StartException(
                listening(configuration.get(port).toSocketAddress()) + " (" + port.name() + "): " + reason + ". Change "
                        + port.name() + ", or stop the program that uses this port.",
                cause);
    }

    private @Nullable StateFile readState() throws StartException {
        Path file = configuration.find(Settings.STATE_FILE);
        if (file != null) {
            state = StateFile.read(file);
        } else if (configuration.find(Settings.FLEET_TABLE) == null
                && configuration.functions().stream()
                        .anyMatch(f -> f.options().launching().gbSecondsPerHour() > 0)) {
            log.info(
                    "state.file is not set, so function.spending-limit starts from zero after a restart. Set state.file to keep it.");
        }
        return state;
    }

    private void openAccessLog() throws StartException {
        Path file = configuration.get(Settings.ACCESS_LOG_FILE).orElse(null);
        if (file == null) {
            return;
        }
        try {
            accessLogFile = new LineFile(file.equals(ValueType.STDOUT) ? null : file);
        } catch (IOException e) {
            throw new StartException("access-log.file: expected a writable file, got \"" + file + "\"", e);
        }
        String idHeader = configuration.find(Settings.FORWARDING_REQUEST_ID_HEADER);
        accessLog = AccessLog.builder()
                .fields(configuration.get(Settings.ACCESS_LOG_FIELDS))
                .requestIdHeader(idHeader == null ? "" : idHeader)
                .writer(accessLogFile)
                .start();
        metrics.watchAccessLog(accessLog);
    }

    /** Opens the admin port before the dispatcher, so that a liveness probe can connect early. */
    private void openAdmin() throws StartException {
        metrics.watchReadiness(() -> readiness.obstacle() == null);
        ListenAddress port = configuration.get(Settings.ADMIN_PORT);
        if (port.isOff()) {
            return;
        }
        try {
            admin = new AdminServer(
                    port.toSocketAddress(),
                    new AdminPages(readiness, launching, workerControl, new Commands(), metrics::scrape, live::json),
                    adminAccess(),
                    tls(configuration),
                    metrics.observer()::onProtection);
            admin.observeChanges(live::commanded);
        } catch (IOException e) {
            throw cannotListen(Settings.ADMIN_PORT, String.valueOf(e.getMessage()), e);
        }
    }

    private static List<String> urls(List<PublicListener> listeners, List<InetSocketAddress> addresses) {
        List<String> urls = new ArrayList<>();
        for (int i = 0; i < listeners.size(); i++) {
            urls.add(url(listeners.get(i).scheme(), addresses.get(i)));
        }
        return urls;
    }

    private static String url(String scheme, InetSocketAddress address) {
        String host = address.getAddress() == null
                ? address.getHostString()
                : address.getAddress().getHostAddress();
        return scheme + "://" + (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    private void announce() {
        publicUrls.forEach(url -> log.info("Listening for clients on {}", url));
        if (dispatcher != null) {
            String scheme = configuration.hasPlainWorkers() ? "http" : "https";
            log.info("Listening for workers on {}", url(scheme, dispatcher.workerAddress()));
        }
        if (admin != null) {
            log.info("Listening for admin requests on {}", adminUrl());
        }
    }

    /** Returns the URLs of the open public ports: first plain, then TLS. */
    List<String> publicUrls() {
        return publicUrls;
    }

    /** @throws IllegalStateException before the start */
    int workersPort() {
        Dispatcher serving = dispatcher;
        if (serving == null) {
            throw new IllegalStateException("not started");
        }
        return serving.workerAddress().getPort();
    }

    /** @return {@code null} = the admin port is off */
    @Nullable
    String adminUrl() {
        return admin == null ? null : url(configuration.adminTls() == null ? "http" : "https", admin.address());
    }

    /** Completes when all event loops have responded. */
    CompletionStage<?> respond() {
        Dispatcher serving = dispatcher;
        return serving == null ? CompletableFuture.completedStage(null) : serving.workers();
    }

    /**
     * Completes when clients can connect. If another process serves the same sockets, this is when
     * it may stop.
     */
    CompletionStage<Void> accepting() {
        return serving().accepting();
    }

    /** Returns why the server is not ready, in one line; {@code null} = ready. */
    @Nullable
    String obstacle() {
        return readiness.obstacle();
    }

    /**
     * Stops the server: reports that it is not ready, continues to serve for {@code
     * shutdown.delay}, then closes everything within {@code shutdown.grace}.
     *
     * @param delayed false to skip {@code shutdown.delay}
     * @return whether the dispatcher has closed without an error and in time
     */
    boolean stop(boolean delayed) throws InterruptedException {
        readiness.shuttingDown();
        Duration delay = configuration.get(Settings.SHUTDOWN_DELAY);
        if (delayed && !delay.isZero()) {
            log.info("Not ready any more. The dispatcher keeps serving for {} ms (shutdown.delay).", delay.toMillis());
            TimeUnit.NANOSECONDS.sleep(delay.toNanos());
        }
        boolean closed = closeDispatcher(configuration.get(Settings.SHUTDOWN_GRACE));
        closeParts();
        log.info("The dispatcher has stopped.");
        return closed;
    }

    private boolean closeDispatcher(Duration grace) throws InterruptedException {
        Dispatcher closing = dispatcher;
        dispatcher = null;
        if (closing == null) {
            return true;
        }
        try {
            closing.close(grace).toCompletableFuture().get(grace.plus(CUT_OFF).toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (ExecutionException e) {
            log.error("The dispatcher failed to close.", e.getCause());
        } catch (TimeoutException e) {
            log.error(
                    "The dispatcher is not closed {} s after the grace period (shutdown.grace). The process exits anyway.",
                    CUT_OFF.toSeconds());
        }
        return false;
    }

    private void openTracing() {
        URI endpoint = configuration.find(Settings.TRACING_ENDPOINT);
        if (endpoint != null) {
            double ratio = configuration.get(Settings.TRACING_RATIO);
            boolean callersDecide = configuration.get(Settings.FORWARDING_TRUST).isProxied();
            traces = new TraceExport(endpoint, ratio, callersDecide);
            log.info("Sending traces of {} % of the requests to {}", ratio * 100, endpoint);
        }
    }

    private static void closeFile(LineFile file) {
        try {
            file.close();
        } catch (IOException e) {
            log.warn("The access log failed to close: {}", e.getMessage());
        }
    }

    private void closeParts() {
        if (dispatcher != null) {
            dispatcher.close();
        }
        if (state != null) {
            state.close();
        }
        if (accessLog != null) {
            accessLog.close();
        }
        if (traces != null) {
            traces.close();
        }
        if (accessLogFile != null) {
            closeFile(accessLogFile);
        }
        if (admin != null) {
            admin.close();
        }
        weightWatch.close();
        live.close();
        metrics.close();
    }
}
