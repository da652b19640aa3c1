package io.lambdadispatcher.aws;

import io.netty.util.NetUtil;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.net.Proxy;
import java.net.SocketException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds an address of this machine that workers in the same network can dial.
 *
 * <p>These sources are asked in this order:
 * <ol>
 *   <li>the environment variable {@value #VARIABLE},
 *   <li>the ECS task metadata endpoint version 4 (Amazon ECS developer guide),
 *   <li>the EC2 instance metadata service version 2 (Amazon EC2 user guide), except in a Kubernetes
 *       pod,
 *   <li>in a Kubernetes pod, the environment variable {@code POD_IP}, which the pod's manifest
 *       sets,
 *   <li>the first IPv4 address of a network interface that is up and not a loopback.
 * </ol>
 *
 * <pre>{@code
 * String host = AdvertisedAddress.find().host();
 * }</pre>
 */
public final class AdvertisedAddress {
    /** The environment variable for the host that workers dial, without a port. */
    public static final String VARIABLE = "LAMBDA_DISPATCHER_ADVERTISED_HOST";

    private static final Logger log = LoggerFactory.getLogger(AdvertisedAddress.class);
    /** Kubernetes sets this variable in every pod. */
    private static final String KUBERNETES = "KUBERNETES_SERVICE_HOST";

    static final int TIMEOUT_MILLIS = 500;
    private static final URI EC2 = URI.create("http://169.254.169.254");

    /** The first address of the first container network. */
    private static final Pattern ECS_ADDRESS = Pattern.compile("\"IPv4Addresses\"\\s*:\\s*\\[\\s*\"([0-9.]+)\"");

    private static final Pattern ADDRESS = Pattern.compile("[0-9.]{7,15}|[0-9a-fA-F:]{2,39}");

    /**
     * An address, and where it comes from.
     *
     * @param host a host name or an IP address, without brackets
     * @param reason the source, for logs
     */
    public record Found(String host, String reason) {}

    private final Map<String, String> environment;
    private final URI ec2;
    private final int timeoutMillis;

    private AdvertisedAddress(Map<String, String> environment, URI ec2, int timeoutMillis) {
        this.environment = environment;
        this.ec2 = ec2;
        this.timeoutMillis = timeoutMillis;
    }

    /**
     * Finds the address, and logs it. Blocks while the metadata services are asked: each of their
     * one to two requests has 500 ms to connect and 500 ms for each read.
     *
     * @throws IllegalArgumentException if {@value #VARIABLE} contains a port or is not a valid IPv6
     *     address
     * @throws IllegalStateException if no source has an address
     */
    public static Found find() {
        return find(System.getenv(), EC2, TIMEOUT_MILLIS);
    }

    /** @param timeoutMillis the maximum time to connect to a service, and for each read */
    static Found find(Map<String, String> environment, URI ec2, int timeoutMillis) {
        AdvertisedAddress look = new AdvertisedAddress(environment, ec2, timeoutMillis);
        Found found = look.variable()
                .or(look::ecs)
                .or(look::ec2)
                .or(look::kubernetes)
                .or(AdvertisedAddress::networkInterface)
                .orElseThrow(() -> new IllegalStateException(
                        "found no address that workers can dial. Set workers.advertised-addresses or " + VARIABLE));
        log.info("workers dial {}, detected from: {}", found.host, found.reason);
        return found;
    }

    private Optional<Found> variable() {
        return Optional.ofNullable(environment.get(VARIABLE))
                .map(String::strip)
                .filter(host -> !host.isEmpty())
                .map(host -> new Found(verified(host), "environment variable " + VARIABLE));
    }

    /**
     * Returns the host without brackets. Rejects colons that are not part of an IPv6 address,
     * because the port is always the worker port.
     */
    private static String verified(String host) {
        if (host.indexOf(':') < 0) {
            return host;
        }
        if (!NetUtil.isValidIpV6Address(host)) {
            throw new IllegalArgumentException(
                    VARIABLE + " is '" + host + "', expected a host name or an IP address, without a port");
        }
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    private Optional<Found> ecs() {
        String endpoint = environment.get("ECS_CONTAINER_METADATA_URI_V4");
        if (endpoint == null) {
            return Optional.empty();
        }
        return attempt("ECS task metadata", () -> {
            Matcher address = ECS_ADDRESS.matcher(http("GET", endpoint, Map.of()));
            return address.find() ? address.group(1) : "";
        });
    }

    /**
     * Asks the EC2 metadata service, but not from within a pod, which would receive the address of
     * its node.
     */
    private Optional<Found> ec2() {
        if (environment.containsKey(KUBERNETES) || "true".equals(environment.get("AWS_EC2_METADATA_DISABLED"))) {
            return Optional.empty();
        }
        return attempt("EC2 instance metadata", () -> {
            String token = http("PUT", ec2 + "/latest/api/token", Map.of("X-aws-ec2-metadata-token-ttl-seconds", "60"));
            return http("GET", ec2 + "/latest/meta-data/local-ipv4", Map.of("X-aws-ec2-metadata-token", token));
        });
    }

    private Optional<Found> kubernetes() {
        if (!environment.containsKey(KUBERNETES)) {
            return Optional.empty();
        }
        return Optional.ofNullable(environment.get("POD_IP"))
                .filter(address -> ADDRESS.matcher(address).matches())
                .map(address -> new Found(address, "Kubernetes pod address in POD_IP"));
    }

    private static Optional<Found> networkInterface() {
        try {
            return NetworkInterface.networkInterfaces()
                    .filter(AdvertisedAddress::isUp)
                    .flatMap(each -> each.inetAddresses()
                            .filter(Inet4Address.class::isInstance)
                            .filter(address -> !address.isLinkLocalAddress() && !address.isLoopbackAddress())
                            .map(address -> new Found(address.getHostAddress(), "network interface " + each.getName())))
                    .findFirst();
        } catch (SocketException e) {
            return Optional.empty();
        }
    }

    private static boolean isUp(NetworkInterface candidate) {
        try {
            return candidate.isUp() && !candidate.isLoopback();
        } catch (SocketException e) {
            return false;
        }
    }

    private interface Call {
        String make() throws IOException;
    }

    private static Optional<Found> attempt(String what, Call call) {
        try {
            return Optional.of(call.make().strip())
                    .filter(text -> ADDRESS.matcher(text).matches())
                    .map(text -> new Found(text, what));
        } catch (IOException e) {
            log.debug("{} does not answer", what, e);
            return Optional.empty();
        }
    }

    private static HttpURLConnection connection(String uri) throws IOException {
        try {
            if (new URI(uri).toURL().openConnection(Proxy.NO_PROXY) instanceof HttpURLConnection connection) {
                return connection;
            }
        } catch (URISyntaxException | IllegalArgumentException e) {
            throw new IOException("'" + uri + "', expected an http address", e);
        }
        throw new IOException("'" + uri + "', expected an http address");
    }

    private String http(String method, String uri, Map<String, String> headers) throws IOException {
        HttpURLConnection connection = connection(uri);
        connection.setRequestMethod(method);
        connection.setConnectTimeout(timeoutMillis);
        connection.setReadTimeout(timeoutMillis);
        headers.forEach(connection::setRequestProperty);
        try (InputStream body = connection.getInputStream()) {
            return new String(body.readNBytes(1 << 20), StandardCharsets.UTF_8);
        } finally {
            connection.disconnect();
        }
    }
}
