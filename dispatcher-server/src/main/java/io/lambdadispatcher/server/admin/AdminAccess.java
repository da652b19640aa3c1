package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;
import static io.netty.handler.codec.http.HttpResponseStatus.UNAUTHORIZED;

import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Decides which requests the admin port accepts. Immutable.
 *
 * <p>The rules protect against web pages in a browser on a machine that can reach this port. Such a
 * page can send requests with the port's address as their Host and with the page's own Origin. By
 * DNS rebinding it can also read answers, but then the Host is the page's name.
 */
public final class AdminAccess {
    private static final Pattern HOST = Pattern.compile("(\\[[^]]*]|[^:\\[]*)(:\\d{1,5})?");
    private static final String BEARER = "Bearer ";

    private final Set<String> hosts;
    private final byte @Nullable [] token;

    /**
     * @param hosts accepted Host names in lower case, in addition to {@code localhost} and IP
     *     addresses
     * @param token required for changes; {@code null} = changes are allowed only from loopback
     *     addresses
     */
    public AdminAccess(Set<String> hosts, byte @Nullable [] token) {
        this.hosts = Set.copyOf(hosts);
        this.token = token == null ? null : token.clone();
    }

    /**
     * Returns the answer to a request whose Host is not accepted; {@code null} = it is accepted.
     */
    @Nullable
    FullHttpResponse refuseHost(HttpRequest request) {
        List<String> values = request.headers().getAll(HttpHeaderNames.HOST);
        if (values.size() != 1) {
            return AdminAnswers.text(BAD_REQUEST, "host: expected one, got " + values.size() + "\n");
        }
        return isOurs(values.get(0))
                ? null
                : AdminAnswers.text(
                        FORBIDDEN,
                        "host: expected an IP address, localhost or a name in admin.hosts, got another name\n");
    }

    private boolean isOurs(String value) {
        Matcher matcher = HOST.matcher(value);
        if (!matcher.matches()) {
            return false;
        }
        String host = matcher.group(1).toLowerCase(Locale.ROOT);
        return host.equals("localhost")
                || hosts.contains(host)
                || NetUtil.isValidIpV4Address(host)
                || host.startsWith("[") && NetUtil.isValidIpV6Address(host.substring(1, host.length() - 1));
    }

    /**
     * Returns the answer to a request that must not change anything; {@code null} = it may. Call it
     * after {@link #refuseHost} has accepted the Host.
     */
    @Nullable
    FullHttpResponse refuseChange(HttpRequest request, SocketAddress remote) {
        String host = request.headers().get(HttpHeaderNames.HOST);
        for (String origin : request.headers().getAll(HttpHeaderNames.ORIGIN)) {
            if (!origin.equalsIgnoreCase("http://" + host) && !origin.equalsIgnoreCase("https://" + host)) {
                return AdminAnswers.text(FORBIDDEN, "origin: expected none, or that of this host\n");
            }
        }
        if (token == null) {
            return isLoopback(remote)
                    ? null
                    : AdminAnswers.text(
                            FORBIDDEN, "Changes are allowed only from this machine, because admin.token is not set.\n");
        }
        return hasToken(request, token)
                ? null
                : AdminAnswers.text(
                        UNAUTHORIZED,
                        "authorization: expected Bearer and the token in admin.token\n",
                        HttpHeaderNames.WWW_AUTHENTICATE,
                        "Bearer");
    }

    private static boolean isLoopback(SocketAddress remote) {
        return remote instanceof InetSocketAddress address
                && !address.isUnresolved()
                && address.getAddress().isLoopbackAddress();
    }

    /** Compares in constant time. */
    private static boolean hasToken(HttpRequest request, byte[] token) {
        List<String> values = request.headers().getAll(HttpHeaderNames.AUTHORIZATION);
        return values.size() == 1
                && values.get(0).regionMatches(true, 0, BEARER, 0, BEARER.length())
                && MessageDigest.isEqual(
                        values.get(0).substring(BEARER.length()).trim().getBytes(StandardCharsets.ISO_8859_1), token);
    }
}
