package io.lambdadispatcher.server.config;

import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.wire.http.PrintableText;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Rules between the settings of the dispatcher. */
final class DispatcherChecks extends Checks {
    /** Twice this is the largest connection window of HTTP/2. */
    private static final long LARGEST_WINDOWS = 1L << 30;

    DispatcherChecks(SettingValues dispatcher, boolean complete, Consumer<String> problems) {
        super(dispatcher, dispatcher, complete, problems);
    }

    void checkDispatcher() {
        checkTls(Settings.PUBLIC_TLS_CERTIFICATE, Settings.PUBLIC_TLS_KEY, Settings.PUBLIC_TLS_CLIENT_CERTIFICATES);
        checkTls(Settings.WORKERS_TLS_CERTIFICATE, Settings.WORKERS_TLS_KEY, Settings.WORKERS_TLS_CLIENT_CERTIFICATES);
        checkTls(Settings.ADMIN_TLS_CERTIFICATE, Settings.ADMIN_TLS_KEY, null);
        checkPorts();
        checkToken(Settings.ADMIN_TOKEN);
        checkToken(Settings.ADMIN_READ_TOKEN);
        boolean trusted = checked.get(Settings.FORWARDING_TRUST).isProxied();
        require(
                trusted || !checked.isSet(Settings.FORWARDING_CLIENT_HEADER),
                Settings.FORWARDING_CLIENT_HEADER,
                "forwarding.trust to name a proxy, such as append, or this not to be set",
                Settings.FORWARDING_TRUST);
        checkFleet();
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

    /** Without a table, the dispatcher would be alone, and nobody would notice. */
    private void checkFleet() {
        if (complete && !checked.isSet(Settings.FLEET_TABLE)) {
            String expected = "fleet.table to be set as well";
            require(checked.isDefault(Settings.FLEET_NAME), Settings.FLEET_NAME, expected);
            require(!checked.isSet(Settings.FLEET_ZONE), Settings.FLEET_ZONE, expected);
            require(!checked.isSet(Settings.FLEET_ENDPOINT), Settings.FLEET_ENDPOINT, expected);
        }
        if (checked.isSet(Settings.FLEET_TABLE)) {
            require(
                    !complete || checked.isSet(Settings.WORKERS_SECRET),
                    Settings.FLEET_TABLE,
                    "workers.secret to be set as well, the same for all dispatchers");
            require(
                    !Configuration.isOff(checked, Settings.WORKERS_TLS_CERTIFICATE)
                            || isOnLoopback(Settings.WORKERS_PORT),
                    Settings.WORKERS_TLS_CERTIFICATE,
                    "not off in a fleet (fleet.table), because workers send their tokens to all of its dispatchers, or"
                            + " workers.port to be one of a loopback address, such as 127.0.0.1:8444",
                    Settings.WORKERS_PORT);
            require(
                    !checked.isSet(Settings.STATE_FILE),
                    Settings.STATE_FILE,
                    "not to be set, because fleet.table keeps what it would keep");
            if (Configuration.fleetFile(checked) != null) {
                String expected = "fleet.table to name a DynamoDB table, not a file";
                require(checked.isDefault(Settings.FLEET_NAME), Settings.FLEET_NAME, expected);
                require(!checked.isSet(Settings.FLEET_ENDPOINT), Settings.FLEET_ENDPOINT, expected);
            }
        }
    }

    /** The token must be a valid header value, because clients send it in a header. */
    private void checkToken(Setting<List<byte[]>> setting) {
        List<byte[]> tokens = checked.find(setting);
        boolean sendable = tokens == null
                || tokens.stream().allMatch(token -> new String(token, StandardCharsets.ISO_8859_1).matches("[!-~]*"));
        require(sendable, setting, "visible ASCII characters without spaces");
    }

    private void checkTls(Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients) {
        if (checked.isSet(certificate) && !Configuration.isOff(checked, certificate)) {
            require(checked.isSet(key), certificate, key.name() + " to be set as well", key);
            checkCertificates(certificate, key, clients);
        } else {
            String file = Configuration.isOff(checked, certificate) ? " to a file" : "";
            String expected = certificate.name() + " to be set" + file + " as well";
            require(!checked.isSet(key), key, expected, certificate);
            if (clients != null) {
                require(!checked.isSet(clients), clients, expected, certificate);
            }
        }
    }

    private void checkCertificates(Setting<Path> certificate, Setting<Path> key, @Nullable Setting<Path> clients) {
        TlsOptions tls = Configuration.tls(checked, certificate, key, clients);
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

    private boolean isOnLoopback(Setting<ListenAddress> port) {
        InetAddress address = checked.get(port).toSocketAddress().getAddress();
        return address != null && address.isLoopbackAddress();
    }

    private void checkPorts() {
        ListenAddress plain = checked.get(Settings.PUBLIC_PLAIN_PORT);
        ListenAddress tls = checked.get(Settings.PUBLIC_TLS_PORT);
        boolean secured = checked.isSet(Settings.PUBLIC_TLS_CERTIFICATE);
        require(
                !plain.isOff() || secured && !tls.isOff(),
                Settings.PUBLIC_PLAIN_PORT,
                "a port, because there is no TLS port with a certificate",
                Settings.PUBLIC_PLAIN_PORT,
                Settings.PUBLIC_TLS_PORT);
        require(
                secured || !tls.proxyProtocol(),
                Settings.PUBLIC_TLS_PORT,
                "no proxy-protocol, or public.tls.certificate to be set",
                Settings.PUBLIC_TLS_CERTIFICATE);
        Map<String, Setting<?>> taken = new HashMap<>();
        checkPort(Settings.PUBLIC_PLAIN_PORT, taken);
        if (secured) {
            checkPort(Settings.PUBLIC_TLS_PORT, taken);
        }
        checkPort(Settings.WORKERS_PORT, taken);
        checkPort(Settings.ADMIN_PORT, taken);
    }

    private void checkPort(Setting<ListenAddress> setting, Map<String, Setting<?>> taken) {
        ListenAddress address = checked.get(setting);
        if (address.port() > 0) {
            Setting<?> other = taken.putIfAbsent(address.hostOrAny() + ":" + address.port(), setting);
            if (other != null) {
                require(false, setting, "a port other than that of " + other.name(), setting, other);
            }
        }
    }
}
