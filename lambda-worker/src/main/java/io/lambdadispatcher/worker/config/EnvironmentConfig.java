package io.lambdadispatcher.worker.config;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A worker's configuration from environment variables: the whole invoke payload in {@value #PAYLOAD}, or one variable each
 * ({@code LAMBDA_DISPATCHER_ADDRESSES=host:port,host:port}, {@code _FUNCTION}, {@code _SECRET} or {@code _TOKEN}, {@code _WORKER_ID},
 * {@code _CONNECTIONS}, {@code _STREAMS}, {@code _TLS=true}, {@code _TLS_FINGERPRINT}, {@code _TLS_TRUST_PEM} or {@code _TRUST}, {@code
 * _TLS_CERTIFICATE}, {@code _TLS_KEY}, {@code _DEADLINE_MILLIS}, {@code _DEADLINE_MARGIN_MILLIS}, {@code _IDLE_TIMEOUT_MILLIS}, {@code
 * _DRAIN_GRACE_MILLIS}, {@code _LONE_TIMEOUT_MILLIS}).
 */
public final class EnvironmentConfig {
    public static final String PREFIX = "LAMBDA_DISPATCHER_";
    public static final String PAYLOAD = PREFIX + "PAYLOAD";

    private final Map<String, String> variables;

    private EnvironmentConfig(Map<String, String> variables) {
        this.variables = variables;
    }

    /** @throws IllegalArgumentException names the variable, its value and what was expected */
    public static WorkerConfig read(Map<String, String> variables) {
        String payload = variables.get(PAYLOAD);
        EnvironmentConfig environment = new EnvironmentConfig(variables);
        return payload == null ? environment.read() : environment.withTrust(InvokePayload.read(payload));
    }

    /** A payload is the same wherever the worker lives; the file with the authorities is not. */
    private WorkerConfig withTrust(WorkerConfig launched) {
        String file = trustFile();
        WorkerTls tls = launched.tls();
        boolean open = tls == null || tls.trust() == WorkerTls.Trust.SYSTEM;
        if (file == null || !open) {
            return launched;
        }
        WorkerTls trust = WorkerTls.pem(Path.of(file));
        Path certificate = tls == null ? null : tls.certificate();
        Path key = tls == null ? null : tls.key();
        return launched.withTls(
                certificate == null || key == null ? trust : trust.withClientCertificate(certificate, key));
    }

    private @Nullable String trustFile() {
        String file = text("TLS_TRUST_PEM");
        return file == null ? text("TRUST") : file;
    }

    private WorkerConfig read() {
        WorkerSettings settings = new WorkerSettings();
        settings.function = text("FUNCTION");
        settings.workerId = text("WORKER_ID");
        if (settings.workerId == null) {
            settings.workerId = "self-" + UUID.randomUUID();
        }
        settings.token = text("TOKEN");
        settings.secret = text("SECRET");
        settings.addresses = addresses();
        if (settings.function == null) {
            throw WorkerSettings.bad(
                    PREFIX + "FUNCTION", "not set", "the name of a function that the dispatcher knows");
        }
        if (settings.token == null && settings.secret == null) {
            throw WorkerSettings.bad(
                    PREFIX + "SECRET", "not set", "the dispatcher's workers.secret, or a token in " + PREFIX + "TOKEN");
        }
        settings.connections = number("CONNECTIONS");
        settings.streams = number("STREAMS");
        settings.tlsFingerprint = text("TLS_FINGERPRINT");
        settings.tlsTrustFile = trustFile();
        settings.tlsCertificate = text("TLS_CERTIFICATE");
        settings.tlsKey = text("TLS_KEY");
        settings.requireBoth(PREFIX + "TLS_CERTIFICATE", PREFIX + "TLS_KEY");
        settings.tls = flag("TLS");
        settings.deadline = millis("DEADLINE_MILLIS");
        settings.deadlineMargin = millis("DEADLINE_MARGIN_MILLIS");
        settings.idleTimeout = millis("IDLE_TIMEOUT_MILLIS");
        settings.drainGrace = millis("DRAIN_GRACE_MILLIS");
        settings.loneTimeout = millis("LONE_TIMEOUT_MILLIS");
        return settings.toConfig();
    }

    private @Nullable String text(String name) {
        String value = variables.get(PREFIX + name);
        return value == null || value.isBlank() ? null : value.trim();
    }

    private List<InetSocketAddress> addresses() {
        String value = text("ADDRESSES");
        if (value == null) {
            throw WorkerSettings.bad(PREFIX + "ADDRESSES", "not set", "host:port, several separated by commas");
        }
        List<InetSocketAddress> found = new ArrayList<>();
        for (String part : value.split(",", -1)) {
            found.add(WorkerSettings.address(PREFIX + "ADDRESSES", part.trim()));
        }
        return found;
    }

    private @Nullable Integer number(String name) {
        String value = text(name);
        try {
            return value == null ? null : Integer.valueOf(value);
        } catch (NumberFormatException e) {
            throw WorkerSettings.bad(PREFIX + name, "'" + value + "'", "a number");
        }
    }

    private @Nullable Duration millis(String name) {
        String value = text(name);
        try {
            if (value == null || WorkerSettings.isMillis(Long.parseLong(value))) {
                return value == null ? null : Duration.ofMillis(Long.parseLong(value));
            }
        } catch (NumberFormatException e) {
            // As bad as one out of range.
        }
        throw WorkerSettings.bad(PREFIX + name, "'" + value + "'", WorkerSettings.MILLIS);
    }

    private boolean flag(String name) {
        String value = text(name);
        if (value == null || value.equals("false")) {
            return false;
        }
        if (value.equals("true")) {
            return true;
        }
        throw WorkerSettings.bad(PREFIX + name, "'" + value + "'", "true or false");
    }
}
