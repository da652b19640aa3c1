package io.lambdadispatcher.spring.worker;

import io.lambdadispatcher.worker.config.WorkerConfig;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Combines properties with environment variables. A variable counts if its property is not set. The
 * launch payload of a dispatcher overrides both.
 */
final class WorkerSettings {
    private static final String PAYLOAD = WorkerConfig.VARIABLE_PREFIX + "PAYLOAD";
    private static final String ADDRESSES = WorkerConfig.VARIABLE_PREFIX + "ADDRESSES";
    private static final String PROPERTY_PREFIX = "lambda-dispatcher.worker.";
    private static final Pattern VARIABLE = Pattern.compile(WorkerConfig.VARIABLE_PREFIX + "([A-Z_]*[A-Z])");

    private final Map<String, String> variables;

    /** @param variables environment variables */
    WorkerSettings(WorkerProperties properties, Map<String, String> variables) {
        this.variables = new TreeMap<>(variables);
        put("ADDRESSES", properties.addresses().isEmpty() ? null : String.join(",", properties.addresses()));
        put("FUNCTION", properties.function());
        put("SECRET", properties.secret());
        put("FUNCTION_KEY", properties.functionKey());
        put("WORKER_ID", properties.workerId());
        put("CONNECTIONS", properties.connections());
        put("STREAMS", properties.streams());
        Duration grace = properties.drainGrace();
        put("DRAIN_GRACE_MILLIS", grace == null ? null : grace.toMillis());
        put("TLS", properties.tls());
        put("TLS_TRUST_PEM", properties.tlsTrustPem());
        put("TLS_FINGERPRINT", properties.tlsFingerprint());
        put("TLS_CERTIFICATE", properties.tlsCertificate());
        put("TLS_KEY", properties.tlsKey());
    }

    private void put(String name, @Nullable Object value) {
        if (value != null) {
            variables.put(WorkerConfig.VARIABLE_PREFIX + name, value.toString());
        }
    }

    /** Returns whether environment variables ask for a worker. */
    static boolean askForWorker(Map<String, String> variables) {
        return variables.containsKey(ADDRESSES) || variables.containsKey(PAYLOAD);
    }

    /** Returns whether a dispatcher has launched this process, which then ends with the worker. */
    boolean isLaunched() {
        return variables.containsKey(PAYLOAD);
    }

    /**
     * Returns the worker's configuration, with a new name if none is set.
     *
     * @throws WorkerStartException if a value is not allowed. The message names the property or
     *     variable, its value and what was expected
     */
    WorkerConfig config() {
        try {
            return WorkerConfig.ofEnvironment(variables);
        } catch (IllegalArgumentException e) {
            String message = String.valueOf(e.getMessage());
            throw WorkerStartException.property(isLaunched() ? message : withProperties(message));
        }
    }

    /**
     * Replaces the names of variables in a message with those of properties. A message without a
     * variable begins with the name of a value, which gets the prefix of properties.
     */
    private static String withProperties(String message) {
        Matcher variable = VARIABLE.matcher(message);
        return variable.find() ? variable.replaceAll(found -> property(found.group(1))) : PROPERTY_PREFIX + message;
    }

    private static String property(String variable) {
        String name = variable.toLowerCase(Locale.ROOT).replace('_', '-');
        return PROPERTY_PREFIX + name.replaceFirst("-millis$", "");
    }
}
