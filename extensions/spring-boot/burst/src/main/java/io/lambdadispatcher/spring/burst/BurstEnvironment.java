package io.lambdadispatcher.spring.burst;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.tls.PemFile;
import io.lambdadispatcher.wire.worker.PortKey;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.cloud.CloudPlatform;
import org.springframework.boot.context.event.ApplicationEnvironmentPreparedEvent;
import org.springframework.boot.context.logging.LoggingApplicationListener;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.logging.LogFile;
import org.springframework.context.ApplicationListener;
import org.springframework.core.Ordered;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.util.ClassUtils;

/**
 * Gives a process its role, and translates the properties of {@link BurstProperties} to those of
 * the starters of the dispatcher and the worker.
 *
 * <ul>
 *   <li><b>base</b>: the dispatcher listens on {@code server.port}, and the application's own web
 *       server on a free port of the loopback interface. A worker in this process relays between
 *       them.
 *   <li><b>worker</b>: a process that a dispatcher has launched, on AWS Lambda or on this machine.
 *       It has no dispatcher.
 * </ul>
 */
final class BurstEnvironment implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {
    /** The property that tells the application its role. */
    static final String ROLE = "lambda-dispatcher.burst.role";
    /** Whether the application trusted the forwarding headers of a proxy. */
    static final String BEHIND_PROXY = "lambda-dispatcher.burst.behind-proxy";

    static final String FORWARDING = "server.forward-headers-strategy";

    private static final String PREFIX = "lambda-dispatcher.burst";
    private static final String SOURCE = "lambdaDispatcherBurst";
    private static final String REMOTE_IP = "server.tomcat.remoteip.";
    /** What the dispatcher writes, by the property that tells Tomcat what to read. */
    private static final Map<String, String> WRITTEN = Map.of(
            "remote-ip-header", "x-forwarded-for",
            "protocol-header", "x-forwarded-proto",
            "protocol-header-https-value", "https",
            "host-header", "x-forwarded-host",
            "port-header", "x-forwarded-port");

    private static final String TLS_CERTIFICATE = "lambda-dispatcher.public.tls.certificate";
    private static final String WORKERS_CERTIFICATE = "lambda-dispatcher.workers.tls.certificate";
    private static final String WORKER_TLS = "lambda-dispatcher.worker.tls";
    private static final String MANAGEMENT_PORT = "management.server.port";
    private static final String CONCURRENCY = PREFIX + ".base-concurrency";
    private static final String UNDERTOW_THREADS = "server.undertow.threads.worker";
    private static final int SECRET_BYTES = 32;
    private static final Logger log = LoggerFactory.getLogger(BurstEnvironment.class);

    /** After the configuration has been read, and logging has been set up. */
    @Override
    public int getOrder() {
        return Ordered.HIGHEST_PRECEDENCE + 30;
    }

    @Override
    public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
        prepare(event.getEnvironment());
    }

    /**
     * Adds the properties of the role.
     *
     * @throws BurstStartException if a property is not allowed
     */
    static void prepare(ConfigurableEnvironment environment) {
        Map<String, Object> values = new LinkedHashMap<>();
        BurstProperties properties = Binder.get(environment).bindOrCreate(PREFIX, BurstProperties.class);
        if (isLaunched(environment.getSystemEnvironment())) {
            worker(environment, values);
        } else if (properties.function() != null && !properties.function().isBlank()) {
            Map<String, Object> defaults = base(environment, properties, values);
            defaults.keySet().removeIf(environment::containsProperty);
            values.putAll(defaults);
        } else {
            if (properties.function() == null) {
                requireNoOther(environment);
            }
            log.info("The application serves alone, because {}.function has no value", PREFIX);
            values.put("lambda-dispatcher.enabled", environment.getProperty("lambda-dispatcher.enabled", "false"));
        }
        environment.getPropertySources().addFirst(new MapPropertySource(SOURCE, values));
    }

    private static boolean isLaunched(Map<String, Object> variables) {
        return isProcess(variables) || variables.containsKey("AWS_LAMBDA_RUNTIME_API");
    }

    /** Returns whether a dispatcher on this machine has launched this process. */
    private static boolean isProcess(Map<String, Object> variables) {
        return variables.containsKey(WorkerConfig.VARIABLE_PREFIX + "PAYLOAD");
    }

    /**
     * Takes the log file from a launched process, wherever it is configured: processes cannot share
     * one. The output of the process is that of the base. Before logging is set up.
     */
    static final class NoLogFile implements ApplicationListener<ApplicationEnvironmentPreparedEvent>, Ordered {
        @Override
        public int getOrder() {
            return LoggingApplicationListener.DEFAULT_ORDER - 1;
        }

        @Override
        public void onApplicationEvent(ApplicationEnvironmentPreparedEvent event) {
            ConfigurableEnvironment environment = event.getEnvironment();
            if (isProcess(environment.getSystemEnvironment())) {
                Map<String, Object> none = Map.of(LogFile.FILE_NAME_PROPERTY, "", LogFile.FILE_PATH_PROPERTY, "");
                environment.getPropertySources().addFirst(new MapPropertySource(SOURCE + "Log", none));
            }
        }
    }

    private static void worker(ConfigurableEnvironment environment, Map<String, Object> values) {
        values.put(ROLE, "worker");
        values.put("lambda-dispatcher.enabled", false);
        webServer(environment, values);
        if (!environment.getProperty(MANAGEMENT_PORT, "-1").equals("-1")) {
            // The base has this port already. With -1, there is no port.
            values.put(MANAGEMENT_PORT, 0);
            values.put("management.server.address", "127.0.0.1");
        }
    }

    /** Returns the values of properties that are not set. */
    private static Map<String, Object> base(
            ConfigurableEnvironment environment, BurstProperties properties, Map<String, Object> values) {
        int concurrency = concurrency(environment, properties);
        require("base-concurrency", concurrency, FunctionOptions.MAX_STREAMS_PER_CONNECTION);
        require("max-workers", properties.maxWorkers(), CapacityPolicy.MAX_WORKERS);
        values.put(ROLE, "base");
        values.put(CONCURRENCY, concurrency);
        values.put(BEHIND_PROXY, isBehindProxy(environment));
        webServer(environment, values);
        values.put(
                "lambda-dispatcher.function.name", environment.getProperty("spring.application.name", "application"));
        values.put("lambda-dispatcher.function.max-workers", properties.maxWorkers());
        values.put("lambda-dispatcher.worker.addresses", workerAddress(environment));
        values.put("lambda-dispatcher.worker.function", "${lambda-dispatcher.function.name}");
        values.put("lambda-dispatcher.worker.secret", "${lambda-dispatcher.workers.secret}");
        values.put("lambda-dispatcher.worker.streams", concurrency);

        Map<String, Object> defaults = new LinkedHashMap<>();
        String host = environment.getProperty("server.address", "0.0.0.0");
        String listener =
                "lambda-dispatcher.public." + (environment.containsProperty(TLS_CERTIFICATE) ? "tls" : "plain");
        defaults.put(listener + ".host", host);
        defaults.put(listener + ".port", environment.getProperty("server.port", "8080"));
        defaults.put("lambda-dispatcher.workers.secret", secret());
        if (environment.containsProperty(MANAGEMENT_PORT)) {
            // Otherwise, it would have the address of the web server.
            defaults.put("management.server.address", host);
        }
        workerTls(environment, defaults);
        if (properties.isLocal()) {
            defaults.put("lambda-dispatcher.workers.host", "127.0.0.1");
        } else {
            values.put("lambda-dispatcher.function.lambda", properties.function());
        }
        return defaults;
    }

    /**
     * By default not more than the web server serves at once, so that requests wait in the
     * dispatcher, which can send them to workers, instead of the web server. The relay has a
     * connection for each request, so the web server's limit of connections is one of requests.
     */
    private static int concurrency(ConfigurableEnvironment environment, BurstProperties properties) {
        int most = properties.baseConcurrency();
        if (environment.containsProperty(CONCURRENCY)) {
            return most;
        }
        List<String> limits = new ArrayList<>(List.of("server.tomcat.max-connections", "server.jetty.max-connections"));
        // As Spring Boot decides: before Java 21, the property has no effect.
        if (Runtime.version().feature() < 21
                || !environment.getProperty("spring.threads.virtual.enabled", Boolean.class, false)) {
            limits.addAll(List.of("server.tomcat.threads.max", "server.jetty.threads.max", UNDERTOW_THREADS));
        }
        for (String limit : limits) {
            int unset = limit.equals(UNDERTOW_THREADS) ? undertowThreads(most) : most;
            int value = environment.getProperty(limit, Integer.class, unset);
            // Other numbers mean no limit of connections, or the default number of threads.
            most = value > 0 ? Math.min(most, value) : most;
        }
        return most;
    }

    /**
     * Of all servers, only Undertow, which Spring Boot 3.5 has, can have less than 100 threads by
     * default. Spring Boot uses it if there is no other.
     */
    private static int undertowThreads(int other) {
        boolean serves = ClassUtils.isPresent("io.undertow.Undertow", null)
                && !ClassUtils.isPresent("org.apache.catalina.startup.Tomcat", null)
                && !ClassUtils.isPresent("org.eclipse.jetty.server.Server", null);
        return serves ? 8 * Math.max(Runtime.getRuntime().availableProcessors(), 2) : other;
    }

    private static void require(String property, int value, int maximum) {
        if (value < 1 || value > maximum) {
            throw new BurstStartException(
                    PREFIX + "." + property + " is " + value + ", expected 1 to " + maximum,
                    "Correct this property in the application's configuration.");
        }
    }

    /** Hides the web server from other hosts, and shows it what the client asked for. */
    private static void webServer(ConfigurableEnvironment environment, Map<String, Object> values) {
        for (String property : List.of("server.ssl.certificate", "server.ssl.key-store", "server.ssl.bundle")) {
            if (environment.containsProperty(property)
                    && environment.getProperty("server.ssl.enabled", Boolean.class, true)) {
                throw new BurstStartException(
                        property + " is set, expected no TLS in the application's own web server, which only the"
                                + " dispatcher reaches",
                        "Remove server.ssl, and set " + TLS_CERTIFICATE + " and lambda-dispatcher.public.tls.key to"
                                + " PEM files. The dispatcher then serves HTTPS on server.port.");
            }
        }
        WRITTEN.forEach((name, written) -> requireRead(environment, REMOTE_IP + name, written));
        String proxies = environment.getProperty(REMOTE_IP + "internal-proxies");
        if (proxies != null) {
            values.put(REMOTE_IP + "internal-proxies", withLoopback(proxies));
        }
        String strategy = environment.getProperty(FORWARDING, "");
        values.put(FORWARDING, strategy.equalsIgnoreCase("framework") ? strategy : "native");
        values.put("server.port", 0);
        values.put("server.address", "127.0.0.1");
    }

    /** Another header would not reach the application, or come from a client. */
    private static void requireRead(ConfigurableEnvironment environment, String property, String written) {
        String value = environment.getProperty(property, written);
        if (!value.isBlank() && !value.equalsIgnoreCase(written)) {
            throw new BurstStartException(
                    property + " is " + value + ", expected " + written + ", because the dispatcher writes this",
                    "Remove the property. A proxy in front must write x-forwarded-for and x-forwarded-proto.");
        }
    }

    /**
     * Adds the dispatcher to the proxies that Tomcat trusts. Tomcat takes them for a list of CIDR
     * blocks if there is a slash, which Spring Boot 3.5 does not allow, and for a regular
     * expression otherwise.
     */
    private static String withLoopback(String proxies) {
        if (proxies.isBlank()) {
            return "127\\.0\\.0\\.1";
        }
        return proxies + (proxies.contains("/") ? ", 127.0.0.1/32" : "|127\\.0\\.0\\.1");
    }

    /**
     * As Spring Boot decides, except on a platform that it only detects. There, clients may connect
     * without a proxy, and Tomcat would not believe what they write.
     */
    private static boolean isBehindProxy(ConfigurableEnvironment environment) {
        String strategy = environment.getProperty(FORWARDING, "");
        if (isSet(environment, "remote-ip-header") || isSet(environment, "protocol-header")) {
            return true;
        }
        CloudPlatform platform = CloudPlatform.getActive(environment);
        if (strategy.isBlank() && platform != null && platform.isUsingForwardHeaders()) {
            log.info(
                    "The dispatcher trusts no proxy. If all clients connect through a proxy of {}, set {} to native",
                    platform,
                    FORWARDING);
        }
        return !strategy.isBlank() && !strategy.equalsIgnoreCase("none");
    }

    /** With one of its headers, Tomcat trusts a proxy, whatever the strategy is. */
    private static boolean isSet(ConfigurableEnvironment environment, String header) {
        return !environment.getProperty(REMOTE_IP + header, "").isBlank();
    }

    private static String workerAddress(ConfigurableEnvironment environment) {
        String host = environment.getProperty("lambda-dispatcher.workers.host", "0.0.0.0");
        String port = environment.getProperty("lambda-dispatcher.workers.port", "8444");
        if (port.equals("0")) {
            throw new BurstStartException(
                    "lambda-dispatcher.workers.port is 0, expected 1 to 65535, because the base connects to it",
                    "Set a port that no other program uses, or remove the property. The default is 8444.");
        }
        return (host.equals("0.0.0.0") || host.equals("::") ? "127.0.0.1" : host) + ":" + port;
    }

    /**
     * Lets the worker of this process accept the worker port. Without these values, it accepts the
     * key that follows from the secret.
     */
    private static void workerTls(ConfigurableEnvironment environment, Map<String, Object> defaults) {
        String certificate = environment.getProperty(WORKERS_CERTIFICATE);
        if (certificate == null
                || environment.containsProperty(WORKER_TLS)
                || environment.containsProperty(WORKER_TLS + "-trust-pem")) {
            return;
        }
        // YAML reads an unquoted off as false.
        if (certificate.equals("off") || certificate.equals("false")) {
            defaults.put(WORKER_TLS, false);
            return;
        }
        Path file =
                Binder.get(environment).bind(WORKERS_CERTIFICATE, Path.class).get();
        try {
            PemFile chain = PemFile.read("certificate chain", file);
            defaults.put(
                    WORKER_TLS + "-fingerprint",
                    PortKey.fingerprint(chain.chain().get(0).getPublicKey()));
        } catch (UncheckedIOException | IllegalArgumentException e) {
            // The dispatcher reads the file before the worker starts, and says what is wrong.
            log.debug("{} is {}, which cannot be read", WORKERS_CERTIFICATE, file, e);
        }
    }

    private static String secret() {
        byte[] secret = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        return HexFormat.of().formatHex(secret);
    }

    /** Without a function, other properties would have no effect, unless it is empty on purpose. */
    private static void requireNoOther(ConfigurableEnvironment environment) {
        if (Binder.get(environment)
                .bind(PREFIX, Bindable.mapOf(String.class, Object.class))
                .isBound()) {
            throw new BurstStartException(
                    PREFIX + ".function is not set, expected the name or ARN of a Lambda function, or local",
                    "Set the property, with an empty value if the application is to serve alone, or remove all"
                            + " properties that begin with " + PREFIX + ".");
        }
    }
}
