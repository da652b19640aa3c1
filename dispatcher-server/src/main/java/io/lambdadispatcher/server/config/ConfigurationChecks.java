package io.lambdadispatcher.server.config;

import io.lambdadispatcher.aws.FunctionName;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.Mode;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks rules between settings, either of the dispatcher or of one function. A rule that depends
 * on a value that was refused is not checked, so that one mistake is reported once.
 */
final class ConfigurationChecks {
    private static final Duration SHORTEST_OVERFLOW = Duration.ofMillis(10);
    /** The dispatcher counts milliseconds of pings as an int. */
    private static final Duration LONGEST_PING = Duration.ofMillis(Integer.MAX_VALUE);

    /** Twice this is the largest connection window of HTTP/2. */
    private static final long LARGEST_WINDOWS = 1L << 30;

    /** One entry of the fleet's ledger names all workers of a function. */
    private static final int MOST_WORKERS_IN_FLEET = 1800;

    private static final List<Setting<?>> ROUTE =
            List.of(Settings.FUNCTION_PATH, Settings.FUNCTION_HOST, Settings.FUNCTION_HEADER);

    private final SettingValues dispatcher;
    private final SettingValues checked;
    private final boolean complete;
    private final Consumer<String> problems;

    private ConfigurationChecks(
            SettingValues dispatcher, SettingValues checked, boolean complete, Consumer<String> problems) {
        this.dispatcher = dispatcher;
        this.checked = checked;
        this.complete = complete;
        this.problems = problems;
    }

    /**
     * @param complete whether all that was given has been read, and must suffice for a dispatcher.
     *     If not, a setting may be missing
     */
    static void check(
            SettingValues dispatcher,
            List<SettingValues> functions,
            List<SettingValues> ofRoutes,
            boolean complete,
            Consumer<String> problems) {
        new ConfigurationChecks(dispatcher, dispatcher, complete, problems).checkDispatcher();
        Map<String, SettingValues> names = new HashMap<>();
        Map<Route, SettingValues> routes = new HashMap<>();
        functions.forEach(function ->
                new ConfigurationChecks(dispatcher, function, complete, problems).checkNameAndRoute(names, routes));
        for (SettingValues route : ofRoutes) {
            ConfigurationChecks checks = new ConfigurationChecks(dispatcher, route, complete, problems);
            checks.checkRoute(routes);
            checks.checkTraffic();
            SettingValues function = names.get(route.get(Settings.FUNCTION_NAME));
            if (function == null || !function.hasSame(Settings.FUNCTION_SHADOW, route)) {
                checks.checkOther(Settings.FUNCTION_SHADOW, names);
            }
            checks.checkBreaker();
        }
        checkWeights(functions, ofRoutes, problems);
        for (SettingValues function : functions) {
            ConfigurationChecks checks = new ConfigurationChecks(dispatcher, function, complete, problems);
            checks.checkFunction();
            checks.checkOther(Settings.FUNCTION_SHADOW, names);
            checks.checkBreaker();
        }
    }

    /** Checks a setting that names another function. */
    private void checkOther(Setting<String> setting, Map<String, SettingValues> names) {
        String other = checked.find(setting);
        if (other != null && complete) {
            boolean known = names.containsKey(other) && !other.equals(checked.get(Settings.FUNCTION_NAME));
            require(known, setting, "the name of another function", setting, Settings.FUNCTION_NAME);
        }
    }

    /**
     * Of the functions with one route, one must have a weight above 0. Otherwise, none could get
     * the requests. A function that shares an entry of {@code routes} with none gets all of its
     * requests, also while its weight for other requests is 0.
     */
    private static void checkWeights(
            List<SettingValues> functions, List<SettingValues> ofRoutes, Consumer<String> problems) {
        Map<Route, Integer> sums = new HashMap<>();
        Map<Route, List<SettingValues>> sharing = new LinkedHashMap<>();
        Stream.concat(functions.stream(), ofRoutes.stream()).forEach(function -> {
            Route route = FunctionConfiguration.route(function);
            sums.merge(route.withoutWeight(), route.weight(), Integer::sum);
            sharing.computeIfAbsent(route.withoutWeight(), key -> new ArrayList<>())
                    .add(function);
        });
        sharing.forEach((route, all) -> {
            boolean alone = all.size() == 1 && ofRoutes.contains(all.get(0));
            if (sums.getOrDefault(route, 0) == 0 && !alone) {
                problems.accept(all.get(all.size() - 1)
                        .problem(
                                Settings.FUNCTION_WEIGHT,
                                "1 or more for one of the functions with the same host, header and path"));
            }
        });
    }

    /** @param read settings whose values the rule depends on */
    private void require(boolean holds, Setting<?> setting, String expected, Setting<?>... read) {
        if (!holds && Arrays.stream(read).allMatch(this::isKnown)) {
            problems.accept(checked.problem(setting, expected));
        }
    }

    /**
     * Returns whether the value is what was meant: it was not refused, and it is no default if a
     * name may be misspelt.
     */
    private boolean isKnown(Setting<?> setting) {
        SettingValues values = setting.isOfFunction() ? checked : dispatcher;
        return !values.isInvalid(setting) && (complete || !values.isDefault(setting));
    }

    private void checkDispatcher() {
        checkTls(Settings.PUBLIC_TLS_CERTIFICATE, Settings.PUBLIC_TLS_KEY, Settings.PUBLIC_TLS_CLIENT_CERTIFICATES);
        checkTls(Settings.WORKERS_TLS_CERTIFICATE, Settings.WORKERS_TLS_KEY, Settings.WORKERS_TLS_CLIENT_CERTIFICATES);
        checkTls(Settings.ADMIN_TLS_CERTIFICATE, Settings.ADMIN_TLS_KEY, null);
        checkPorts();
        checkEither(Settings.WORKERS_SECRET, Settings.WORKERS_SECRET_FILE);
        checkEither(Settings.ADMIN_TOKEN, Settings.ADMIN_TOKEN_FILE);
        checkToken(Settings.ADMIN_TOKEN);
        checkToken(Settings.ADMIN_TOKEN_FILE);
        checkToken(Settings.ADMIN_READ_TOKEN_FILE);
        boolean trusted = checked.get(Settings.FORWARDING_TRUST).isProxied();
        require(
                trusted || !checked.isSet(Settings.FORWARDING_CLIENT_HEADER),
                Settings.FORWARDING_CLIENT_HEADER,
                "forwarding.trust to name a proxy, such as append, or this not to be set",
                Settings.FORWARDING_TRUST);
        checkTracing();
        checkFleet();
        checkPing(Settings.WORKERS_PING_INTERVAL);
        checkPing(Settings.WORKERS_PING_TIMEOUT);
        long windows =
                (long) checked.get(Settings.HTTP_MAX_CONCURRENT_STREAMS) * checked.get(Settings.HTTP_STREAM_WINDOW);
        require(
                windows <= LARGEST_WINDOWS,
                Settings.HTTP_MAX_CONCURRENT_STREAMS,
                "at most 1GiB when it is multiplied by http.stream-window, because of the largest connection window"
                        + " of HTTP/2",
                Settings.HTTP_MAX_CONCURRENT_STREAMS,
                Settings.HTTP_STREAM_WINDOW);
    }

    private void checkPing(Setting<Duration> setting) {
        require(
                checked.get(setting).compareTo(LONGEST_PING) <= 0,
                setting,
                "at most " + LONGEST_PING.toMillis() + "ms",
                setting);
    }

    /** Without a table, the dispatcher would be alone, and nobody would notice. */
    private void checkFleet() {
        if (complete && !checked.isSet(Settings.FLEET_TABLE)) {
            String expected = "fleet.table to be set as well";
            require(checked.isDefault(Settings.FLEET_NAME), Settings.FLEET_NAME, expected);
            require(!checked.isSet(Settings.FLEET_ZONE), Settings.FLEET_ZONE, expected);
            require(!checked.isSet(Settings.FLEET_ENDPOINT), Settings.FLEET_ENDPOINT, expected);
        }
        if (checked.isSet(Settings.FLEET_TABLE)) {
            boolean secret = checked.isSet(Settings.WORKERS_SECRET) || checked.isSet(Settings.WORKERS_SECRET_FILE);
            require(
                    !complete || secret,
                    Settings.FLEET_TABLE,
                    "workers.secret or workers.secret-file to be set as well, the same for all dispatchers");
            require(
                    !isOff(checked, Settings.WORKERS_TLS_CERTIFICATE) || isLoopback(checked.get(Settings.WORKERS_HOST)),
                    Settings.WORKERS_TLS_CERTIFICATE,
                    "not off in a fleet (fleet.table), because workers send their tokens to all of its dispatchers, or"
                            + " workers.host to be a loopback address",
                    Settings.WORKERS_HOST);
            require(
                    !checked.isSet(Settings.STATE_FILE),
                    Settings.STATE_FILE,
                    "not to be set, because fleet.table keeps what it would keep");
        }
    }

    private void checkTracing() {
        URI endpoint = checked.find(Settings.TRACING_ENDPOINT);
        if (endpoint == null || checked.isInvalid(Settings.TRACING_PROTOCOL)) {
            return;
        }
        String path = endpoint.getPath().replaceFirst("/+$", "");
        boolean plain = endpoint.getQuery() == null && endpoint.getFragment() == null;
        boolean grpc = checked.get(Settings.TRACING_PROTOCOL) == TracingProtocol.GRPC;
        require(
                plain && (path.isEmpty() || !grpc && !path.endsWith("/v1/traces")),
                Settings.TRACING_ENDPOINT,
                grpc
                        ? "a URL without a path, or tracing.protocol to be http"
                        : "a URL without a query and without /v1/traces, which the dispatcher appends");
    }

    private void checkEither(Setting<?> text, Setting<?> file) {
        boolean both = checked.isSet(text) && checked.isSet(file);
        require(!both, file, "either this or " + text.name() + ", not both");
    }

    /** The token must be a valid header value, because clients send it in a header. */
    private void checkToken(Setting<List<byte[]>> setting) {
        List<byte[]> tokens = checked.find(setting);
        boolean sendable = tokens == null
                || tokens.stream().allMatch(token -> new String(token, StandardCharsets.ISO_8859_1).matches("[!-~]*"));
        require(sendable, setting, "visible ASCII characters without spaces");
    }

    private void checkTls(Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients) {
        if (checked.isSet(certificate) && !isOff(checked, certificate)) {
            require(checked.isSet(key), certificate, key.name() + " to be set as well", key);
            checkCertificates(certificate, key, clients);
        } else {
            String file = isOff(checked, certificate) ? " to a file" : "";
            String expected = certificate.name() + " to be set" + file + " as well";
            require(!checked.isSet(key), key, expected, certificate);
            if (clients != null) {
                require(!checked.isSet(clients), clients, expected, certificate);
            }
        }
    }

    private void checkCertificates(Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients) {
        TlsOptions tls = tls(checked, certificate, key, clients);
        if (tls == null) {
            return;
        }
        try {
            tls.load();
        } catch (IllegalArgumentException | UncheckedIOException e) {
            reportCertificates(certificate, key, clients, PrintableText.ofFailure(e));
        }
    }

    /** The message names the file, and this adds the settings and where they were set. */
    private void reportCertificates(
            Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients, String message) {
        List<Setting<Path>> set = (clients == null ? Stream.of(certificate, key) : Stream.of(certificate, key, clients))
                .filter(checked::isSet)
                .toList();
        problems.accept(set.stream().map(Setting::name).collect(Collectors.joining(", ")) + ": " + message + " ("
                + set.stream().map(checked::source).distinct().collect(Collectors.joining("; ")) + ")");
    }

    /** Returns the certificates and the key of a port; {@code null} = they are not set. */
    static @Nullable TlsOptions tls(
            SettingValues values, Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients) {
        Path chain = values.find(certificate);
        Path privateKey = values.find(key);
        if (chain == null || privateKey == null || isOff(values, certificate)) {
            return null;
        }
        Path authorities = clients == null ? null : values.find(clients);
        TlsOptions tls = TlsOptions.of(chain, privateKey);
        return authorities == null ? tls : tls.withClientCertificates(authorities);
    }

    private static boolean isLoopback(String host) {
        InetAddress address = new InetSocketAddress(host, 0).getAddress();
        return address != null && address.isLoopbackAddress();
    }

    static boolean isOff(SettingValues values, Setting<Path> certificate) {
        return ValueType.OFF.equals(values.find(certificate));
    }

    private void checkPorts() {
        OptionalInt plain = checked.get(Settings.PUBLIC_PLAIN_PORT);
        OptionalInt tls = checked.isSet(Settings.PUBLIC_TLS_CERTIFICATE)
                ? checked.get(Settings.PUBLIC_TLS_PORT)
                : OptionalInt.empty();
        boolean anyPublic = plain.isPresent() || tls.isPresent();
        require(
                anyPublic,
                Settings.PUBLIC_PLAIN_PORT,
                "a port, because there is no TLS port with a certificate",
                Settings.PUBLIC_PLAIN_PORT,
                Settings.PUBLIC_TLS_PORT);
        require(
                plain.isPresent() || !checked.get(Settings.PUBLIC_PLAIN_PROXY_PROTOCOL),
                Settings.PUBLIC_PLAIN_PROXY_PROTOCOL,
                "false, or public.plain.port to be a port");
        require(
                tls.isPresent() || !checked.get(Settings.PUBLIC_TLS_PROXY_PROTOCOL),
                Settings.PUBLIC_TLS_PROXY_PROTOCOL,
                "false, or public.tls.port to be a port and public.tls.certificate to be set",
                Settings.PUBLIC_TLS_CERTIFICATE);
        Map<String, Setting<?>> taken = new HashMap<>();
        checkPort(Settings.PUBLIC_PLAIN_HOST, Settings.PUBLIC_PLAIN_PORT, plain, taken);
        checkPort(Settings.PUBLIC_TLS_HOST, Settings.PUBLIC_TLS_PORT, tls, taken);
        OptionalInt workers = OptionalInt.of(checked.get(Settings.WORKERS_PORT));
        checkPort(Settings.WORKERS_HOST, Settings.WORKERS_PORT, workers, taken);
        checkPort(Settings.ADMIN_HOST, Settings.ADMIN_PORT, checked.get(Settings.ADMIN_PORT), taken);
    }

    private void checkPort(Setting<String> host, Setting<?> setting, OptionalInt port, Map<String, Setting<?>> taken) {
        if (port.orElse(0) != 0) {
            Setting<?> other = taken.putIfAbsent(checked.get(host) + ":" + port.getAsInt(), setting);
            if (other != null) {
                require(false, setting, "a port other than that of " + other.name(), setting, other, host);
            }
        }
    }

    private void checkNameAndRoute(Map<String, SettingValues> names, Map<Route, SettingValues> routes) {
        if (!checked.isInvalid(Settings.FUNCTION_NAME)) {
            SettingValues namesake = names.putIfAbsent(checked.get(Settings.FUNCTION_NAME), checked);
            if (namesake != null) {
                String expected = "a name other than that in " + namesake.source(Settings.FUNCTION_NAME);
                require(false, Settings.FUNCTION_NAME, expected);
                // They are one function by mistake, perhaps with one route.
                return;
            }
        }
        checkRoute(routes);
    }

    private void checkRoute(Map<Route, SettingValues> routes) {
        if (ROUTE.stream().anyMatch(checked::isInvalid)) {
            return;
        }
        SettingValues other =
                routes.putIfAbsent(FunctionConfiguration.route(checked).withoutWeight(), checked);
        if (other != null) {
            // Two functions with one route are an error, unless both have weights.
            boolean ofOne = checked.get(Settings.FUNCTION_NAME).equals(other.get(Settings.FUNCTION_NAME));
            boolean weighted = !ofOne
                    && !checked.isDefault(Settings.FUNCTION_WEIGHT)
                    && !other.isDefault(Settings.FUNCTION_WEIGHT);
            String expected = "a path, host or header other than those of "
                    + (other.owner().isEmpty() ? "the function" : other.owner())
                    + (ofOne ? "" : ", or a weight for both");
            // If a name may be misspelt, it may be a part of the route.
            boolean routed = complete || !checked.isDefault(Settings.FUNCTION_PATH);
            require(weighted || !routed, Settings.FUNCTION_PATH, expected);
        }
    }

    private void checkTraffic() {
        require(
                checked.get(Settings.FUNCTION_CACHE_STALE_IF_ERROR).compareTo(FunctionConfiguration.LONGEST_STALE) <= 0,
                Settings.FUNCTION_CACHE_STALE_IF_ERROR,
                "at most 365d");
        checkAdmission();
        for (ContentEncoding encoding : checked.get(Settings.FUNCTION_COMPRESSION)) {
            require(
                    encoding.isAvailable(),
                    Settings.FUNCTION_COMPRESSION,
                    encoding.artifact() + " on the class path for " + encoding.token(),
                    Settings.FUNCTION_COMPRESSION);
        }
        boolean retries = checked.get(Settings.FUNCTION_RETRY_ON).contains(RetryCondition.TIMEOUT);
        require(
                retries || checked.get(Settings.FUNCTION_ATTEMPT_TIMEOUT).isZero(),
                Settings.FUNCTION_ATTEMPT_TIMEOUT,
                "0, or function.retry-on to contain timeout",
                Settings.FUNCTION_RETRY_ON,
                Settings.FUNCTION_ATTEMPT_TIMEOUT);
    }

    private void checkAdmission() {
        int burst = checked.get(Settings.FUNCTION_RATE_LIMIT_BURST);
        require(
                burst
                        <= checked.get(Settings.FUNCTION_RATE_LIMIT)
                                .map(Rate::requests)
                                .orElse(burst),
                Settings.FUNCTION_RATE_LIMIT_BURST,
                "at most the number of requests of function.rate-limit",
                Settings.FUNCTION_RATE_LIMIT,
                Settings.FUNCTION_RATE_LIMIT_BURST);
        require(
                checked.isSet(Settings.FUNCTION_TENANT_HEADER)
                        || checked.get(Settings.FUNCTION_MAX_TENANT_REQUESTS) == 0,
                Settings.FUNCTION_MAX_TENANT_REQUESTS,
                "0, or function.tenant-header to be set",
                Settings.FUNCTION_TENANT_HEADER,
                Settings.FUNCTION_MAX_TENANT_REQUESTS);
        require(
                checked.get(Settings.FUNCTION_SHED_DELAY).compareTo(Duration.ofHours(1)) <= 0,
                Settings.FUNCTION_SHED_DELAY,
                "at most 1h",
                Settings.FUNCTION_SHED_DELAY);
    }

    private void checkBreaker() {
        Duration open = checked.get(Settings.FUNCTION_BREAKER_OPEN);
        require(
                open.compareTo(Duration.ofMillis(100)) >= 0 && open.compareTo(Duration.ofHours(1)) <= 0,
                Settings.FUNCTION_BREAKER_OPEN,
                "100ms to 1h",
                Settings.FUNCTION_BREAKER_OPEN);
    }

    /** A route may switch off what its function has, so this concerns only functions. */
    private void checkUnused() {
        require(
                checked.get(Settings.FUNCTION_BREAKER_LATENCY).isZero()
                        || checked.get(Settings.FUNCTION_BREAKER_ERRORS) > 0,
                Settings.FUNCTION_BREAKER_LATENCY,
                "0, or function.breaker-errors to be set",
                Settings.FUNCTION_BREAKER_LATENCY,
                Settings.FUNCTION_BREAKER_ERRORS);
    }

    private void checkFunction() {
        checkUnused();
        checkTraffic();
        checkEither(Settings.FUNCTION_SECRET, Settings.FUNCTION_SECRET_FILE);
        int maxWorkers = checked.get(Settings.FUNCTION_MAX_WORKERS);
        boolean inOrder = checked.get(Settings.FUNCTION_MIN_WORKERS) <= maxWorkers;
        require(
                inOrder,
                Settings.FUNCTION_MAX_WORKERS,
                "at least function.min-workers",
                Settings.FUNCTION_MAX_WORKERS,
                Settings.FUNCTION_MIN_WORKERS);
        require(
                !dispatcher.isSet(Settings.FLEET_TABLE) || maxWorkers <= MOST_WORKERS_IN_FLEET,
                Settings.FUNCTION_MAX_WORKERS,
                "at most " + MOST_WORKERS_IN_FLEET + " in a fleet (fleet.table)",
                Settings.FUNCTION_MAX_WORKERS,
                Settings.FLEET_TABLE);
        checkDownstream(maxWorkers);
        if (checked.isInvalid(Settings.FUNCTION_MODE) || checked.isInvalid(Settings.FUNCTION_LAUNCHER)) {
            return;
        }
        if (checked.get(Settings.FUNCTION_MODE) == Mode.DIRECT) {
            checkDirect(maxWorkers);
            return;
        }
        if (checked.get(Settings.FUNCTION_DIRECT_OVERFLOW)) {
            checkOverflow();
        }
        switch (checked.get(Settings.FUNCTION_LAUNCHER)) {
            case LOCAL -> checkLocal(maxWorkers);
            case LAMBDA -> checkLambda(maxWorkers);
            case SELF -> checkSelf(maxWorkers);
        }
    }

    private void checkDownstream(int maxWorkers) {
        int connections = checked.get(Settings.FUNCTION_DOWNSTREAM_CONNECTIONS);
        int perWorker = checked.get(Settings.FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER);
        if (connections == 0) {
            return;
        }
        require(
                maxWorkers > 0,
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                "0, because no workers are launched (function.max-workers is 0), so nothing limits their number",
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                Settings.FUNCTION_MAX_WORKERS);
        int workers = Math.max(1, checked.get(Settings.FUNCTION_MIN_WORKERS));
        long least = DownstreamBudget.least(perWorker, workers);
        require(
                connections >= least,
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                "at least " + least + ": " + perWorker + " (function.downstream-connections-per-worker) for each of "
                        + workers + " workers (function.min-workers) and of " + (least / perWorker - workers)
                        + " that replace others",
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS,
                Settings.FUNCTION_DOWNSTREAM_CONNECTIONS_PER_WORKER,
                Settings.FUNCTION_MIN_WORKERS);
    }

    private void checkDirect(int maxWorkers) {
        String noWorkers = ", because a function in mode direct has no workers";
        require(maxWorkers == 0, Settings.FUNCTION_MAX_WORKERS, "0" + noWorkers, Settings.FUNCTION_MAX_WORKERS);
        boolean self = checked.get(Settings.FUNCTION_LAUNCHER) == Launcher.SELF;
        require(self, Settings.FUNCTION_LAUNCHER, "self" + noWorkers);
        boolean overflow = checked.get(Settings.FUNCTION_DIRECT_OVERFLOW);
        require(!overflow, Settings.FUNCTION_DIRECT_OVERFLOW, "false, because in mode direct all requests are direct");
        checkDirectName();
    }

    private void checkOverflow() {
        Duration after = checked.get(Settings.FUNCTION_DIRECT_OVERFLOW_AFTER);
        boolean inRange = after.compareTo(SHORTEST_OVERFLOW) >= 0
                && after.compareTo(checked.get(Settings.FUNCTION_QUEUE_TIMEOUT)) < 0;
        String expected = "at least 10ms, and less than function.queue-timeout";
        require(
                inRange,
                Settings.FUNCTION_DIRECT_OVERFLOW_AFTER,
                expected,
                Settings.FUNCTION_DIRECT_OVERFLOW_AFTER,
                Settings.FUNCTION_QUEUE_TIMEOUT);
        boolean launchesLambda = checked.get(Settings.FUNCTION_LAUNCHER) == Launcher.LAMBDA;
        if (!launchesLambda || checked.isSet(Settings.FUNCTION_DIRECT_LAMBDA)) {
            checkDirectName();
        }
    }

    private void checkDirectName() {
        boolean own = checked.isSet(Settings.FUNCTION_DIRECT_LAMBDA);
        checkLambdaName(own ? Settings.FUNCTION_DIRECT_LAMBDA : Settings.FUNCTION_LAMBDA);
    }

    /** Checks the name. If the setting is not set, the function's own name is used. */
    private void checkLambdaName(Setting<String> setting) {
        String lambda = checked.find(setting);
        if (lambda != null) {
            require(FunctionName.isOne(lambda), setting, setting.type().expected(), setting);
        } else {
            boolean valid = FunctionName.isOne(checked.get(Settings.FUNCTION_NAME));
            String expected = "a name that a Lambda function can have, or function.lambda to be set";
            require(valid, Settings.FUNCTION_NAME, expected, Settings.FUNCTION_NAME, setting);
        }
    }

    private void checkLocal(int maxWorkers) {
        require(
                maxWorkers > 0,
                Settings.FUNCTION_MAX_WORKERS,
                "1 or more with launcher local",
                Settings.FUNCTION_MAX_WORKERS);
        boolean hasCommand = !dispatcher.get(Settings.LOCAL_COMMAND).isEmpty();
        boolean hasEnvironment = !dispatcher.get(Settings.LOCAL_ENVIRONMENT).isEmpty();
        require(
                checked.isSet(Settings.FUNCTION_HANDLER) || hasCommand || hasEnvironment,
                Settings.FUNCTION_HANDLER,
                "a handler class, local.command, or a local.environment that selects an adapter, with launcher local",
                Settings.FUNCTION_HANDLER,
                Settings.LOCAL_COMMAND,
                Settings.LOCAL_ENVIRONMENT);
        if (!hasCommand) {
            checkHandler();
        }
        require(
                hasCommand || !dispatcher.isSet(Settings.WORKERS_TLS_CLIENT_CERTIFICATES),
                Settings.FUNCTION_LAUNCHER,
                "workers.tls.client-certificates not to be set, or local.command to be set, because a local worker has"
                        + " no certificate",
                Settings.LOCAL_COMMAND);
    }

    /** A worker without its handler class fails at its launch, perhaps long after the start. */
    private void checkHandler() {
        String handler = checked.find(Settings.FUNCTION_HANDLER);
        if (handler != null) {
            String name = handler.split("::", 2)[0];
            boolean missing = HandlerClass.isMissing(name, dispatcher.find(Settings.LOCAL_CLASS_PATH));
            require(
                    !missing,
                    Settings.FUNCTION_HANDLER,
                    "a class that is in local.class-path or in the class path of the dispatcher, with $ before a"
                            + " nested class",
                    Settings.FUNCTION_HANDLER,
                    Settings.LOCAL_COMMAND,
                    Settings.LOCAL_CLASS_PATH);
        }
    }

    private void checkLambda(int maxWorkers) {
        require(
                maxWorkers > 0,
                Settings.FUNCTION_MAX_WORKERS,
                "1 or more with launcher lambda",
                Settings.FUNCTION_MAX_WORKERS);
        require(
                !dispatcher.isSet(Settings.WORKERS_TLS_CLIENT_CERTIFICATES),
                Settings.FUNCTION_LAUNCHER,
                "workers.tls.client-certificates not to be set, because a worker on Lambda has no certificate");
        checkLambdaName(Settings.FUNCTION_LAMBDA);
    }

    private void checkSelf(int maxWorkers) {
        require(
                maxWorkers == 0,
                Settings.FUNCTION_MAX_WORKERS,
                "0 with launcher self, which launches no workers",
                Settings.FUNCTION_MAX_WORKERS,
                Settings.FUNCTION_LAUNCHER);
        require(
                !complete
                        || dispatcher.isSet(Settings.WORKERS_SECRET)
                        || dispatcher.isSet(Settings.WORKERS_SECRET_FILE)
                        || checked.isSet(Settings.FUNCTION_SECRET)
                        || checked.isSet(Settings.FUNCTION_SECRET_FILE),
                Settings.FUNCTION_LAUNCHER,
                "function.secret, workers.secret or a file with one of them to be set, because self-launched workers"
                        + " sign their tokens with it");
        require(
                !complete
                        || dispatcher.isSet(Settings.WORKERS_SECRET)
                        || dispatcher.isSet(Settings.WORKERS_SECRET_FILE)
                        || dispatcher.isSet(Settings.WORKERS_TLS_CERTIFICATE)
                        || !checked.isSet(Settings.FUNCTION_SECRET) && !checked.isSet(Settings.FUNCTION_SECRET_FILE),
                Settings.FUNCTION_LAUNCHER,
                "workers.secret or workers.secret-file to be set beside function.secret, because the key of the worker"
                        + " port follows from it, and self-launched workers must know that key");
    }
}
