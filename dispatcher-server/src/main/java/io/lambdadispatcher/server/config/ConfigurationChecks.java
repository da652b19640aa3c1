package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.lambda.FunctionName;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.function.Consumer;

/** What settings demand of each other and of the files they name. */
final class ConfigurationChecks {
    private static final List<Setting<Path>> FILES = List.of(
            Settings.PUBLIC_TLS_CERTIFICATE,
            Settings.PUBLIC_TLS_KEY,
            Settings.PUBLIC_TLS_CLIENT_CERTIFICATES,
            Settings.WORKERS_TLS_CERTIFICATE,
            Settings.WORKERS_TLS_KEY,
            Settings.WORKERS_TLS_CLIENT_CERTIFICATES,
            Settings.WORKERS_SECRET_FILE);
    private static final List<Setting<Duration>> NOT_ZERO = List.of(
            Settings.WORKERS_PING_INTERVAL,
            Settings.WORKERS_PING_TIMEOUT,
            Settings.HTTP_HEAD_TIMEOUT,
            Settings.HTTP_IDLE_TIMEOUT,
            Settings.HTTP_WRITE_TIMEOUT);

    private final EffectiveValues values;
    private final Map<String, EffectiveValues> functions;
    private final Consumer<String> problems;

    private ConfigurationChecks(Configuration configuration, Consumer<String> problems) {
        values = configuration.values();
        functions = configuration.functionValues();
        this.problems = problems;
    }

    static void check(Configuration configuration, Consumer<String> problems) {
        ConfigurationChecks checks = new ConfigurationChecks(configuration, problems);
        checks.filesAreReadable();
        checks.durationsAreNotZero();
        checks.tlsIsWhole(
                Settings.PUBLIC_TLS_CERTIFICATE, Settings.PUBLIC_TLS_KEY, Settings.PUBLIC_TLS_CLIENT_CERTIFICATES);
        checks.tlsIsWhole(
                Settings.WORKERS_TLS_CERTIFICATE, Settings.WORKERS_TLS_KEY, Settings.WORKERS_TLS_CLIENT_CERTIFICATES);
        checks.publicPortIsThere();
        checks.portsDiffer();
        checks.secretIsWhole();
        checks.functionsDiffer();
        checks.functions.forEach(checks::functionIsWhole);
    }

    private void filesAreReadable() {
        for (Setting<Path> setting : FILES) {
            Path path = values.find(setting);
            if (path != null && !(Files.isRegularFile(path) && Files.isReadable(path))) {
                refuse(setting, "a file that can be read");
            }
        }
    }

    private void durationsAreNotZero() {
        for (Setting<Duration> setting : NOT_ZERO) {
            if (values.get(setting).isZero()) {
                refuse(setting, "more than 0");
            }
        }
    }

    private void tlsIsWhole(Setting<Path> certificate, Setting<Path> key, Setting<Path> clients) {
        boolean hasCertificate = values.find(certificate) != null;
        if (hasCertificate && values.find(key) == null) {
            refuse(certificate, key.name() + " as well");
        }
        if (!hasCertificate && values.find(key) != null) {
            refuse(key, certificate.name() + " as well");
        }
        if (!hasCertificate && values.find(clients) != null) {
            refuse(clients, certificate.name() + " as well");
        }
    }

    private void publicPortIsThere() {
        boolean tls = values.find(Settings.PUBLIC_TLS_CERTIFICATE) != null
                && values.get(Settings.PUBLIC_TLS_PORT).isPresent();
        if (!tls && values.get(Settings.PUBLIC_PLAIN_PORT).isEmpty()) {
            refuse(Settings.PUBLIC_PLAIN_PORT, "a port, for there is no TLS port with a certificate either");
        }
    }

    private void portsDiffer() {
        Map<String, Setting<?>> seen = new HashMap<>();
        portIsNew(Settings.PUBLIC_PLAIN_HOST, Settings.PUBLIC_PLAIN_PORT, values.get(Settings.PUBLIC_PLAIN_PORT), seen);
        if (values.find(Settings.PUBLIC_TLS_CERTIFICATE) != null) {
            portIsNew(Settings.PUBLIC_TLS_HOST, Settings.PUBLIC_TLS_PORT, values.get(Settings.PUBLIC_TLS_PORT), seen);
        }
        portIsNew(
                Settings.WORKERS_HOST, Settings.WORKERS_PORT, OptionalInt.of(values.get(Settings.WORKERS_PORT)), seen);
        portIsNew(Settings.ADMIN_HOST, Settings.ADMIN_PORT, values.get(Settings.ADMIN_PORT), seen);
    }

    private void portIsNew(Setting<String> host, Setting<?> setting, OptionalInt port, Map<String, Setting<?>> seen) {
        if (port.isEmpty() || port.getAsInt() == 0) {
            return;
        }
        Setting<?> other = seen.putIfAbsent(values.get(host) + ":" + port.getAsInt(), setting);
        if (other != null) {
            refuse(setting, "another port than " + other.name());
        }
    }

    private void secretIsWhole() {
        String secret = values.find(Settings.WORKERS_SECRET);
        if (secret != null && values.find(Settings.WORKERS_SECRET_FILE) != null) {
            refuse(Settings.WORKERS_SECRET_FILE, "either this or workers.secret, not both");
        }
        if (secret != null && secret.getBytes(StandardCharsets.UTF_8).length < LaunchToken.MIN_SECRET_BYTES) {
            refuse(Settings.WORKERS_SECRET, Settings.WORKERS_SECRET.type().expected());
        }
        Path file = values.find(Settings.WORKERS_SECRET_FILE);
        if (file != null && Files.isReadable(file) && !holdsSecret(file)) {
            refuse(
                    Settings.WORKERS_SECRET_FILE,
                    "a file that holds " + Settings.WORKERS_SECRET.type().expected());
        }
    }

    private static boolean holdsSecret(Path file) {
        try {
            return SecretFile.read(file).length >= LaunchToken.MIN_SECRET_BYTES;
        } catch (IOException e) {
            return false;
        }
    }

    private void functionsDiffer() {
        Map<String, String> names = new HashMap<>();
        Map<Route, String> routes = new HashMap<>();
        functions.forEach((place, entry) -> {
            String namesake = names.putIfAbsent(entry.get(Settings.FUNCTION_NAME), place);
            if (namesake != null) {
                refuse(place, entry, Settings.FUNCTION_NAME, "another one than " + namesake + " has");
            }
            String other = routes.putIfAbsent(FunctionConfiguration.route(entry).withoutWeight(), place);
            if (other != null) {
                routeMayBeShared(place, entry, other);
            }
        });
    }

    /** By mistake two functions have one route; on purpose they have weights. */
    private void routeMayBeShared(String place, EffectiveValues entry, String other) {
        if (hasNoWeight(entry) || hasNoWeight(Objects.requireNonNull(functions.get(other)))) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_PATH,
                    "another one than " + other + " has, or another host or header, or a weight for both");
        }
    }

    private static boolean hasNoWeight(EffectiveValues entry) {
        return entry.effective(Settings.FUNCTION_WEIGHT).source().kind() == Source.Kind.DEFAULT;
    }

    private void functionIsWhole(String place, EffectiveValues entry) {
        int workers = entry.get(Settings.FUNCTION_MAX_WORKERS);
        if (workers < entry.get(Settings.FUNCTION_MIN_WORKERS)) {
            refuse(place, entry, Settings.FUNCTION_MAX_WORKERS, "at least function.min-workers");
        }
        if (entry.get(Settings.FUNCTION_NO_SHOW_AFTER).isZero()) {
            refuse(place, entry, Settings.FUNCTION_NO_SHOW_AFTER, "more than 0");
        }
        if (entry.get(Settings.FUNCTION_MODE) == Mode.DIRECT) {
            directFunctionIsWhole(place, entry, workers);
            return;
        }
        overflowIsWhole(place, entry);
        switch (entry.get(Settings.FUNCTION_LAUNCHER)) {
            case LOCAL -> localFunctionIsWhole(place, entry, workers);
            case LAMBDA -> lambdaFunctionIsWhole(place, entry, workers);
            case SELF -> selfFunctionIsWhole(place, entry, workers);
        }
    }

    private void directFunctionIsWhole(String place, EffectiveValues entry, int workers) {
        if (workers != 0) {
            refuse(place, entry, Settings.FUNCTION_MAX_WORKERS, "0 with the mode direct: it has no workers");
        }
        if (entry.get(Settings.FUNCTION_LAUNCHER) != LauncherKind.SELF) {
            refuse(place, entry, Settings.FUNCTION_LAUNCHER, "self with the mode direct: it has no workers");
        }
        if (entry.get(Settings.FUNCTION_DIRECT_OVERFLOW)) {
            refuse(place, entry, Settings.FUNCTION_DIRECT_OVERFLOW, "false with the mode direct: all requests go so");
        }
        directLambdaIsOne(place, entry);
    }

    private void directLambdaIsOne(String place, EffectiveValues entry) {
        if (entry.find(Settings.FUNCTION_DIRECT_LAMBDA) == null) {
            lambdaIsOne(place, entry, Settings.FUNCTION_LAMBDA);
        } else {
            lambdaIsOne(place, entry, Settings.FUNCTION_DIRECT_LAMBDA);
        }
    }

    /** What is invoked has the name of the function where {@code setting} is unset. */
    private void lambdaIsOne(String place, EffectiveValues entry, Setting<String> setting) {
        String lambda = entry.find(setting);
        if (lambda == null && !FunctionName.isOne(entry.get(Settings.FUNCTION_NAME))) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_NAME,
                    "a name that Lambda functions can have, or function.lambda as well");
        }
        if (lambda != null && !FunctionName.isOne(lambda)) {
            refuse(place, entry, setting, setting.type().expected());
        }
    }

    private void overflowIsWhole(String place, EffectiveValues entry) {
        if (!entry.get(Settings.FUNCTION_DIRECT_OVERFLOW)) {
            return;
        }
        Duration after = entry.get(Settings.FUNCTION_DIRECT_OVERFLOW_AFTER);
        Duration pending = entry.get(Settings.FUNCTION_PENDING_TIMEOUT);
        if (after.toMillis() < 10 || after.compareTo(pending) >= 0) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_DIRECT_OVERFLOW_AFTER,
                    "at least 10ms, and less than function.pending-timeout");
        }
        boolean looksAtLambda = entry.get(Settings.FUNCTION_LAUNCHER) == LauncherKind.LAMBDA;
        if (!looksAtLambda || entry.find(Settings.FUNCTION_DIRECT_LAMBDA) != null) {
            directLambdaIsOne(place, entry);
        }
    }

    private void localFunctionIsWhole(String place, EffectiveValues entry, int workers) {
        if (workers == 0) {
            refuse(place, entry, Settings.FUNCTION_MAX_WORKERS, "1 or more with the launcher local");
        }
        if (entry.find(Settings.FUNCTION_HANDLER) == null
                && values.get(Settings.LOCAL_COMMAND).isEmpty()
                && values.get(Settings.LOCAL_ENVIRONMENT).isEmpty()) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_HANDLER,
                    "a handler class, or local.command, or local.environment that names an adapter, with the launcher local");
        }
        if (values.find(Settings.WORKERS_TLS_CLIENT_CERTIFICATES) != null
                && values.get(Settings.LOCAL_COMMAND).isEmpty()) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_LAUNCHER,
                    "no workers.tls.client-certificates, or local.command: our own local workers have no certificate to show");
        }
    }

    private void lambdaFunctionIsWhole(String place, EffectiveValues entry, int workers) {
        if (workers == 0) {
            refuse(place, entry, Settings.FUNCTION_MAX_WORKERS, "1 or more with the launcher lambda");
        }
        if (values.find(Settings.WORKERS_TLS_CLIENT_CERTIFICATES) != null) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_LAUNCHER,
                    "no workers.tls.client-certificates: workers on Lambda have no certificate to show");
        }
        lambdaIsOne(place, entry, Settings.FUNCTION_LAMBDA);
    }

    private void selfFunctionIsWhole(String place, EffectiveValues entry, int workers) {
        if (workers != 0) {
            refuse(place, entry, Settings.FUNCTION_MAX_WORKERS, "0 with the launcher self: nobody launches them");
        }
        if (values.find(Settings.WORKERS_SECRET) == null && values.find(Settings.WORKERS_SECRET_FILE) == null) {
            refuse(
                    place,
                    entry,
                    Settings.FUNCTION_LAUNCHER,
                    "workers.secret or workers.secret-file as well, for workers sign their tokens with it");
        }
    }

    private void refuse(Setting<?> setting, String expected) {
        refuse(setting.name(), values.effective(setting), expected);
    }

    private void refuse(String place, EffectiveValues entry, Setting<?> setting, String expected) {
        refuse(place + "." + setting.lastName(), entry.effective(setting), expected);
    }

    private void refuse(String name, Effective<?> effective, String expected) {
        String text = effective.text();
        String shown = text == null ? "unset" : "'" + effective.setting().show(text) + "' (" + effective.source() + ")";
        problems.accept(name + ": " + shown + ": expected " + expected);
    }
}
