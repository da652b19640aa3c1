package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;
import static io.netty.handler.codec.http.HttpResponseStatus.UNAUTHORIZED;

import io.lambdadispatcher.wire.http.Authority;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.util.NetUtil;
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
    private static final Caller NOBODY = new Caller(0, false);

    private final Set<String> hosts;
    private final List<byte[]> tokens;
    private final List<byte[]> readTokens;

    /**
     * @param hosts accepted Host names in lower case, in addition to {@code localhost} and IP
     *     addresses
     * @param tokens one of them is required for changes; empty = nothing can be changed
     * @param readTokens one of these or of {@code tokens} is required to read; empty = everybody
     *     may read
     */
    public AdminAccess(Set<String> hosts, List<byte[]> tokens, List<byte[]> readTokens) {
        this.hosts = Set.copyOf(hosts);
        this.tokens = tokens.stream().map(byte[]::clone).toList();
        this.readTokens = readTokens.stream().map(byte[]::clone).toList();
    }

    /**
     * Who has sent a request.
     *
     * @param token the number of the token for changes that the request has, from 1 on, or 0
     * @param reads whether it has a token that is only for reading
     */
    record Caller(int token, boolean reads) {
        boolean isKnown() {
            return token > 0 || reads;
        }
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
                        "host: expected an IP address, localhost or a name in admin.allowed-hosts, got another name\n");
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
    FullHttpResponse refuseChange(HttpRequest request, Caller caller) {
        String host = request.headers().get(HttpHeaderNames.HOST);
        for (String origin : request.headers().getAll(HttpHeaderNames.ORIGIN)) {
            if (!isOrigin(origin, "http", host) && !isOrigin(origin, "https", host)) {
                return AdminAnswers.text(FORBIDDEN, "origin: expected none, or that of this host\n");
            }
        }
        if (tokens.isEmpty()) {
            return AdminAnswers.text(
                    FORBIDDEN,
                    "Nothing can be changed, because no token is configured. Set admin.token, which a reload puts"
                            + " in force.\n");
        }
        return caller.token > 0 ? null : unauthorized("admin.token");
    }

    /** Returns the answer to a request that must not read anything; {@code null} = it may. */
    @Nullable
    FullHttpResponse refuseRead(Caller caller) {
        return readTokens.isEmpty() || caller.isKnown() ? null : unauthorized("admin.read-token or admin.token");
    }

    private static FullHttpResponse unauthorized(String settings) {
        return AdminAnswers.text(
                UNAUTHORIZED,
                "authorization: expected Bearer and a token of " + settings + "\n",
                HttpHeaderNames.WWW_AUTHENTICATE,
                "Bearer");
    }

    private static boolean isOrigin(String origin, String scheme, String host) {
        String start = scheme + "://";
        return origin.regionMatches(true, 0, start, 0, start.length())
                && Authority.isSame(origin.substring(start.length()), host, scheme);
    }

    /**
     * Returns who has sent a request. Takes the same time whichever token it has, and however much
     * of it is right.
     */
    Caller caller(HttpRequest request) {
        List<String> values = request.headers().getAll(HttpHeaderNames.AUTHORIZATION);
        if (values.size() != 1 || !values.get(0).regionMatches(true, 0, BEARER, 0, BEARER.length())) {
            return NOBODY;
        }
        byte[] given = values.get(0).substring(BEARER.length()).trim().getBytes(StandardCharsets.ISO_8859_1);
        return new Caller(number(tokens, given), number(readTokens, given) > 0);
    }

    private static int number(List<byte[]> tokens, byte[] given) {
        int found = 0;
        for (int i = 0; i < tokens.size(); i++) {
            // The first argument decides how long the comparison takes.
            found = MessageDigest.isEqual(given, tokens.get(i)) ? i + 1 : found;
        }
        return found;
    }
}
