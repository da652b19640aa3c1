package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.spring.dispatcher.DispatcherProperties.Function;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/**
 * Applies the properties to a builder. Errors name the property, its value and what was expected.
 */
final class DispatcherStarter {
    private static final String PREFIX = "lambda-dispatcher.";
    private static final String LAMBDA_LAUNCHER = "io.lambdadispatcher.aws.LambdaLauncher";
    private static final int MIN_SECRET_BYTES = 16;
    /** YAML reads an unquoted {@code off} as {@code false}. */
    private static final Set<String> OFF = Set.of("off", "false");

    private final DispatcherProperties properties;
    private final DispatcherBuilder builder;
    private @Nullable WorkerLauncher launcher;

    /** @throws DispatcherStartException if the dispatcher cannot use the version of Netty */
    DispatcherStarter(DispatcherProperties properties) {
        this.properties = properties;
        try {
            builder = Dispatcher.builder();
        } catch (IllegalStateException e) {
            throw DispatcherStartException.netty(e);
        }
    }

    /**
     * Applies the properties to the builder.
     *
     * @param beans the functions that are described by beans. One with the name of a function of
     *     the properties replaces its options
     * @param customized whether there is a customizer, which may set missing values
     * @throws DispatcherStartException if a property is not allowed. The message names it, its
     *     value and what was expected
     */
    DispatcherBuilder apply(List<FunctionOptions> beans, boolean customized) {
        Map<String, Function> functions = functions();
        if (!customized) {
            requireEnough(functions, beans);
        }
        List<FunctionOptions> others = new ArrayList<>(beans);
        functions.forEach((property, function) -> builder.function(beans.stream()
                .filter(bean -> bean.name().equals(function.name()))
                .findFirst()
                .filter(others::remove)
                .orElseGet(() -> options(property, function))));
        others.forEach(builder::function);
        workerListener();
        secret();
        DispatcherProperties.Workers workers = properties.workers();
        builder.advertisedAddresses(workers.advertisedAddresses().stream()
                .map(address -> address("workers.advertised-addresses", address))
                .toList());
        launchOnLambda(functions);
        return builder;
    }

    /** Returns each function by the name of the property that describes it. */
    private Map<String, Function> functions() {
        Map<String, Function> all = new LinkedHashMap<>();
        Function only = properties.function();
        if (only != null) {
            require(properties.functions().isEmpty(), "functions", "set, as is function", "one of the two");
            all.put("function", only);
        }
        for (Function each : properties.functions()) {
            all.put("functions[" + all.size() + "]", each);
        }
        return all;
    }

    private void requireEnough(Map<String, Function> functions, List<FunctionOptions> beans) {
        require(
                !functions.isEmpty() || !beans.isEmpty(),
                "function.name",
                "not set",
                "the name of a function, or a bean of FunctionOptions");
        boolean selfLaunched = functions.values().stream()
                        .filter(function ->
                                beans.stream().noneMatch(bean -> bean.name().equals(function.name())))
                        .anyMatch(function -> function.maxWorkers() == 0 && function.lambda() == null)
                || beans.stream().anyMatch(function -> function.capacity().maxWorkers() == 0);
        require(
                !selfLaunched || properties.workers().secret() != null,
                "workers.secret",
                "not set",
                "at least " + MIN_SECRET_BYTES + " random bytes, because workers launch themselves");
    }

    private static FunctionOptions options(String property, Function function) {
        String name = function.name();
        if (name == null) {
            throw bad(property + ".name", "not set", "1 to 256 characters");
        }
        try {
            return FunctionOptions.builder(name)
                    .capacity(CapacityPolicy.between(function.minWorkers(), function.maxWorkers()))
                    .build();
        } catch (IllegalArgumentException e) {
            throw DispatcherStartException.property(PREFIX + property + "." + e.getMessage());
        }
    }

    /** Returns the ports for clients, which open when the application is ready. */
    List<ListenerOptions> publicListeners() {
        List<ListenerOptions> listeners = new ArrayList<>();
        DispatcherProperties.Plain plain = properties.publicPorts().plain();
        Integer plainPort = plain.port();
        if (plainPort != null) {
            listeners.add(listener("public.plain", plain.host(), plainPort, null, null));
        }
        DispatcherProperties.Tls tls = properties.publicPorts().tls();
        if (tls.certificate() != null || tls.key() != null) {
            listeners.add(listener("public.tls", tls.host(), tls.port(), tls.certificate(), tls.key()));
        }
        return listeners;
    }

    private void workerListener() {
        DispatcherProperties.Workers workers = properties.workers();
        Path certificate = workers.tls().certificate();
        boolean off = certificate != null && OFF.contains(certificate.toString());
        ListenerOptions listener = listener(
                "workers",
                workers.host(),
                workers.port(),
                off ? null : certificate,
                workers.tls().key());
        boolean complete = off || listener.tls() != null;
        builder.workerListener(complete ? listener : ListenerOptions.workers(listener.address()));
    }

    private static ListenerOptions listener(
            String property, String host, int port, @Nullable Path certificate, @Nullable Path key) {
        require(port >= 0 && port <= 65_535, property + ".port", port, "a port from 0 to 65535");
        String files = property.equals("workers") ? "workers.tls" : property;
        ListenerOptions listener = certificate == null && key == null
                ? ListenerOptions.plain(host, port)
                : ListenerOptions.tls(
                        host,
                        port,
                        TlsOptions.of(readable(files + ".certificate", certificate), readable(files + ".key", key)));
        require(!listener.address().isUnresolved(), property + ".host", host, "a host name or an IP address");
        return listener;
    }

    private static Path readable(String property, @Nullable Path file) {
        if (file == null || !Files.isReadable(file)) {
            throw bad(property, file == null ? "not set" : file, "a readable PEM file");
        }
        return file;
    }

    private void secret() {
        String secret = properties.workers().secret();
        if (secret != null) {
            byte[] bytes = secret.getBytes(StandardCharsets.UTF_8);
            require(
                    bytes.length >= MIN_SECRET_BYTES,
                    "workers.secret",
                    bytes.length + " bytes",
                    "at least " + MIN_SECRET_BYTES + " random bytes");
            builder.secret(bytes);
        }
    }

    private static InetSocketAddress address(String property, String text) {
        int colon = text.lastIndexOf(':');
        try {
            String host = text.substring(0, Math.max(0, colon)).replaceAll("^\\[|]$", "");
            int port = Integer.parseInt(text.substring(colon + 1));
            if (!host.isEmpty() && port >= 0 && port <= 65_535) {
                return InetSocketAddress.createUnresolved(host, port);
            }
        } catch (NumberFormatException e) {
            // Reported in the same way as a port that is out of range.
        }
        throw bad(property, "'" + text + "'", "addresses such as 10.0.0.7:8444");
    }

    private void launchOnLambda(Map<String, Function> functions) {
        Map<String, String> lambdas = new LinkedHashMap<>();
        functions.forEach((property, function) -> {
            String lambda = function.lambda();
            if (lambda != null) {
                require(
                        isLauncherThere(),
                        property + ".lambda",
                        lambda,
                        "the artifact dispatcher-aws on the class path");
                require(function.maxWorkers() > 0, property + ".max-workers", 0, "1 or more, because lambda is set");
                lambdas.put(String.valueOf(function.name()), lambda);
            }
        });
        if (!lambdas.isEmpty()) {
            launcher = LambdaWorkers.launch(builder, lambdas, properties.workers());
        }
    }

    /** Closes what only a dispatcher that has started would close. */
    void close() {
        if (launcher != null) {
            launcher.close();
        }
    }

    private static boolean isLauncherThere() {
        return ClassUtils.isPresent(LAMBDA_LAUNCHER, null);
    }

    private static void require(boolean holds, String property, Object value, String expected) {
        if (!holds) {
            throw bad(property, value, expected);
        }
    }

    private static DispatcherStartException bad(String property, Object value, String expected) {
        return DispatcherStartException.property(PREFIX + property + " is " + value + ", expected " + expected);
    }
}
