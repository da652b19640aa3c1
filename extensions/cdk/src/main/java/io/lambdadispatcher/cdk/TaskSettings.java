package io.lambdadispatcher.cdk;

import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import software.amazon.awscdk.Token;

/** Settings of a dispatcher, which it gets as environment variables. */
final class TaskSettings {
    private static final Pattern NAME = Pattern.compile("[a-z]+([.-][a-z0-9]+)*");
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(ms|s|m|h|d)");
    private static final Set<String> SECRETS =
            Set.of("workers.secret", "function.secret", "admin.token", "admin.read-token");

    /** The load balancer, the security groups and the health checks rely on them. */
    private static final Set<String> OWN = Set.of(
            "admin.port",
            "admin.tls.certificate",
            "admin.tls.key",
            "aws.region",
            "fleet.table",
            "function.lambda",
            "function.launcher",
            "function.name",
            "public.plain.port",
            "workers.port");

    /** Fargate kills a task after this time. */
    private static final int MAX_STOP_SECONDS = 120;

    /** For the goodbyes of workers, and for the end of the JVM. */
    private static final int END_SECONDS = 20;

    private final Map<String, String> defaults = new TreeMap<>(Map.of(
            "admin.port", "0.0.0.0:9901",
            "forwarding.trust", "append", // The load balancer sets x-forwarded-for.
            "function.launcher", "lambda",
            "function.max-workers", "50",
            "function.min-workers", "1", // Otherwise a task would be ready before it has a worker.
            "function.worker-concurrency", "10",
            // Longer than the load balancer's health check needs, which is 10 s.
            "shutdown.delay", "15s",
            "shutdown.grace", "60s"));
    private final Map<String, String> values = new TreeMap<>();

    void set(String name, String value) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "expected the name of a setting such as function.max-workers, got '" + name + "'");
        }
        if (OWN.contains(name)) {
            throw new IllegalArgumentException(name + ": the construct decides this setting, because the network, the"
                    + " health checks and the permissions depend on it. Remove it");
        }
        if (SECRETS.contains(name)) {
            throw new IllegalArgumentException(name + ": expected a secret, because everyone who may read the stack"
                    + " would see this value. Use secret(name, Secret.fromSecretsManager(...))");
        }
        values.put(name, value);
    }

    void byDefault(String name, String value) {
        defaults.put(name, value);
    }

    /** Sets what {@link #set} refuses. */
    void own(String name, String value) {
        values.put(name, value);
    }

    static void expectSecret(String name) {
        if (!SECRETS.contains(name)) {
            throw new IllegalArgumentException(name + ": expected one of "
                    + String.join(", ", SECRETS.stream().sorted().toList())
                    + ". For other settings, use setting(name, value)");
        }
    }

    Map<String, String> all() {
        Map<String, String> all = new TreeMap<>(defaults);
        all.putAll(values);
        return all;
    }

    static <T> Map<String, T> asEnvironment(Map<String, T> settings) {
        Map<String, T> environment = new TreeMap<>();
        settings.forEach((name, value) -> environment.put(
                "LAMBDA_DISPATCHER_" + name.toUpperCase(Locale.ROOT).replaceAll("[.-]", "_"), value));
        return environment;
    }

    /**
     * Returns the time after which ECS kills a task that it stops.
     *
     * @throws IllegalArgumentException if the settings need more than Fargate allows
     */
    int stopSeconds() {
        long needed = seconds("shutdown.delay") + seconds("shutdown.grace") + END_SECONDS;
        if (needed > MAX_STOP_SECONDS) {
            throw new IllegalArgumentException("shutdown.delay and shutdown.grace: expected at most "
                    + (MAX_STOP_SECONDS - END_SECONDS) + " s together, because Fargate kills a task after "
                    + MAX_STOP_SECONDS + " s, got " + all().get("shutdown.delay") + " and "
                    + all().get("shutdown.grace"));
        }
        return (int) needed;
    }

    /**
     * Expects that the dispatcher keeps idle connections for longer than the load balancer.
     * Otherwise, the load balancer sends requests over connections that are just being closed, and
     * answers them with 502.
     *
     * @throws IllegalArgumentException if it closes them earlier
     */
    void expectLongerIdleTimeout(int balancerSeconds) {
        String name = "http.idle-timeout";
        if (values.containsKey(name) && seconds(name) <= balancerSeconds) {
            throw new IllegalArgumentException(name + ": expected more than " + balancerSeconds
                    + " s, because the load balancer keeps idle connections for this time, got " + values.get(name));
        }
    }

    /**
     * Expects that the dispatchers use all streams of a worker that opens as many.
     *
     * @throws IllegalArgumentException if {@code function.worker-concurrency} is smaller
     */
    void expectConcurrency(int streams) {
        String name = "function.worker-concurrency";
        String text = all().getOrDefault(name, "");
        if (streams < 1) {
            throw new IllegalArgumentException("base: expected at least 1 stream, got " + streams);
        }
        if (text.matches("[0-9]{1,9}") && streams > Integer.parseInt(text)) {
            throw new IllegalArgumentException("base: expected at most " + text + " streams, which is " + name
                    + ", got " + streams + ". The dispatchers would not use more: raise " + name
                    + ", or give fewer streams");
        }
    }

    private long seconds(String name) {
        String text = all().get(name);
        if (text == null || Boolean.TRUE.equals(Token.isUnresolved(text))) {
            throw new IllegalArgumentException(name + ": expected a duration such as 15s, because other parts of the"
                    + " stack depend on it, got a token");
        }
        if (text.equals("0")) {
            return 0;
        }
        Matcher matcher = DURATION.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    name + ": expected 0, or a duration such as 500ms, 10s, 15m or 1h, got '" + text + "'");
        }
        long count = Long.parseLong(matcher.group(1));
        Duration duration = switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(count + 999);
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
        };
        return duration.toSeconds();
    }
}
