package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Logs each attempt to change something, and each wrong token: what, who, and the result, in one
 * line, and as key-value pairs for the log in JSON. Nothing else uses the logger, so these lines
 * can be found, and go elsewhere.
 */
final class Audit {
    static final String LOGGER = "audit";

    /** Refused attempts that are logged one by one, and time until there is one more. */
    static final int MAX_REFUSED_LINES = 20;

    static final long REFUSED_LINE_NANOS = TimeUnit.SECONDS.toNanos(3);

    private static final Logger log = LoggerFactory.getLogger(LOGGER);
    private static final int MAX_RESULT_CHARS = 500;

    private long refusedLines = MAX_REFUSED_LINES;
    private long refilledNanos;
    private long leftOut;

    /**
     * Logs an attempt that was refused before anything looked at what it wants. Whoever can reach
     * the port can make such attempts, so only some of them are logged in a flood. Confined to the
     * port's event loop.
     */
    void refused(HttpRequest request, SocketAddress remote, int token, FullHttpResponse answer, long nowNanos) {
        long more = (nowNanos - refilledNanos) / REFUSED_LINE_NANOS;
        if (more > 0 || refusedLines == MAX_REFUSED_LINES) {
            refusedLines = Math.min(MAX_REFUSED_LINES, refusedLines + more);
            refilledNanos = nowNanos;
        }
        if (refusedLines == 0) {
            leftOut++;
            return;
        }
        refusedLines--;
        tellLeftOut();
        attempted(request, remote, token, answer);
    }

    /** Logs how many refused attempts were not logged since the last line about one, if any. */
    void tellLeftOut() {
        if (leftOut > 0) {
            log.atWarn()
                    .addKeyValue("leftOut", leftOut)
                    .log(
                            "{} not logged, because there were too many",
                            PrintableText.counted(leftOut, "more refused request was", "more refused requests were"));
            leftOut = 0;
        }
    }

    /**
     * @param token the number of the token that the request has, from 1 on; 0 = it has none
     * @param answer is only read
     */
    static void attempted(HttpRequest request, SocketAddress remote, int token, FullHttpResponse answer) {
        HttpResponseStatus status = answer.status();
        String target = PrintableText.of(request.uri());
        String from = text(remote);
        String line = what(request, remote, token) + ": " + status.code() + " " + result(answer);
        log.atLevel(status.equals(HttpResponseStatus.OK) ? Level.INFO : Level.WARN)
                .addKeyValue("method", request.method())
                .addKeyValue("target", target)
                .addKeyValue("from", from)
                .addKeyValue("token", token)
                .addKeyValue("status", status.code())
                .log(line);
    }

    /** Returns what a request is meant to change, and who has sent it. */
    static String what(HttpRequest request, SocketAddress remote, int token) {
        return request.method() + " " + PrintableText.of(request.uri()) + " from " + text(remote)
                + (token == 0 ? " without a valid token" : " with token " + token);
    }

    private static String text(SocketAddress remote) {
        return remote instanceof InetSocketAddress address && !address.isUnresolved()
                ? address.getAddress().getHostAddress() + " port " + address.getPort()
                : remote.toString();
    }

    private static String result(FullHttpResponse answer) {
        return PrintableText.of(
                answer.content().toString(StandardCharsets.UTF_8).strip(), MAX_RESULT_CHARS);
    }
}
