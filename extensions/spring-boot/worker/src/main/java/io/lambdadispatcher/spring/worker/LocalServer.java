package io.lambdadispatcher.spring.worker;

import io.lambdadispatcher.worker.adapter.web.WebHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.net.InetAddress;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.ConfigurableEnvironment;

/** The application's own web server, and the handler that relays requests to it. */
final class LocalServer {
    private static final String PORT = "local.server.port";
    private static final String WEB = WorkerConfig.VARIABLE_PREFIX + "WEB_";

    private LocalServer() {}

    /** Returns the environment variables that configure a worker. */
    static Map<String, String> variables(ConfigurableEnvironment environment) {
        Map<String, String> own = new TreeMap<>();
        environment.getSystemEnvironment().forEach((name, value) -> {
            if (name.startsWith(WorkerConfig.VARIABLE_PREFIX) || name.startsWith("AWS_LWA_")) {
                own.put(name, String.valueOf(value));
            }
        });
        return own;
    }

    /** Returns whether the application has a web server, and it listens. */
    static boolean listens(ConfigurableEnvironment environment) {
        return environment.getProperty(PORT) != null;
    }

    /**
     * Returns a handler that relays to the port on which the web server listens now. The variables
     * {@code LAMBDA_DISPATCHER_WEB_*} apply, except those for the application's address, its start
     * and its readiness.
     *
     * @throws IllegalStateException if no web server listens
     */
    static WebHandler handler(ConfigurableEnvironment environment) {
        String port = environment.getProperty(PORT);
        if (port == null) {
            throw new IllegalStateException(PORT + " is not set, expected an application with a web server:"
                    + " add spring-boot-starter-webmvc or spring-boot-starter-webflux");
        }
        Map<String, String> variables = variables(environment);
        variables
                .keySet()
                .removeIf(name -> name.equals(WEB + "COMMAND")
                        || name.startsWith(WEB + "READINESS_")
                        || name.startsWith("AWS_LWA_READINESS_CHECK_"));
        variables.put(WebHandler.PORT_VARIABLE, port);
        variables.put(WEB + "HOST", host(environment.getProperty("server.address", InetAddress.class)));
        // The web server has started already, and the response to a path may depend on the client.
        variables.put(WEB + "READINESS_PROTOCOL", "tcp");
        return WebHandler.of(variables);
    }

    private static String host(@Nullable InetAddress configured) {
        return configured == null || configured.isAnyLocalAddress() ? "127.0.0.1" : configured.getHostAddress();
    }
}
